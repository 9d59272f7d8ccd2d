/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US      INT64_C(1000000)
#define WALL_US_MAX    (12 * 3600 * SECOND_US) /* a clock that is further off is not looked at */
#define DRAIN_US_MAX   (3 * 3600 * SECOND_US)
#define DRAIN_STEP_MAX 2000000

static void fold(struct sim_world *world, uint64_t hash)
{
    world->trace = (world->trace ^ hash ^ (uint64_t)world->now_us) * UINT64_C(1099511628211);
}

void sim_trace_number(struct sim_world *world, const char *what, uint64_t number)
{
    fold(world, number);
    if (world->plan.show)
        printf("%12" PRId64 " %s %" PRIu64 "\n", world->now_us - SIM_BEGIN_US, what, number);
}

void sim_trace(struct sim_world *world, const char *format, ...)
{
    char words[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(words, sizeof words, format, args);
    va_end(args);
    size_t used = len < (int)sizeof words ? (size_t)len : sizeof words - 1;
    fold(world, sim_hash(bytes_make(words, used)));
    if (world->plan.show)
        printf("%12" PRId64 " %s\n", world->now_us - SIM_BEGIN_US, words);
}

void sim_fail(const struct sim_world *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("\nFAILED seed %" PRIu64 " at step %" PRIu64 ": ", world->plan.seed, world->steps);
    vprintf(format, args);
    va_end(args);
    printf("\nrepeat: sim_ingest --seed %" PRIu64, world->plan.seed);
    sim_plan_tell(&world->plan);
    printf(" --trace\n");
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

/* ---- lives ---- */

static enum rc submit(void *arg, struct batch *batch)
{
    struct sim_life *life = arg;
    if (life->ledger != NULL)
        sim_ledger_life_sent(life->ledger, batch);
    return life->ended ? RC_AGAIN : sim_writer_submit(&life->writer, batch);
}

static void start(void *arg)
{
    struct sim_life *life = arg;
    if (life->source != NULL)
        life->source->ops->start(life->source);
    if (life->content != NULL)
        sim_content_life_start(life->content);
}

static void add_news(struct sim_life *life)
{
    static const char *const collections[] = {"app.bsky.feed.post", "app.bsky.feed.repost"};
    struct sim_world *world = life->world;
    struct err err = {""};
    struct jetstream_options options = {.collections = collections,
                                        .collection_count = 2,
                                        .reconnect_delay_seconds =
                                            (uint32_t)sim_between(&world->swarm, 1, 5),
                                        .ring_bytes = world->shape.ring_bytes,
                                        .window_us = world->shape.window_us,
                                        .cursor_state = text_bytes(&world->db.cursor),
                                        .start_us = SIM_BEGIN_US};
    if (world->db.cursor.len == 0)
        options.cursor_state = BYTES_ABSENT;
    for (int i = 0; i < world->shape.hosts; i++)
        options.endpoints[i] = sim_host_urls[i];
    if (jetstream_new(&life->env, &options, &life->source, &err) != RC_OK)
        sim_fail(world, "the source does not start: %s", err.text);
}

struct sim_life *sim_life_new(struct sim_world *world)
{
    struct sim_life *life = memory_new_zeroed(1, sizeof *life);
    life->runtime.ops = &sim_runtime_ops;
    life->world = world;
    life->pool = batch_pool_new(world->shape.batches, world->shape.arena_bytes);
    sim_writer_init(&life->writer, life, sim_store_claim(&life->store, life));
    life->env = (struct source_env){.runtime = &life->runtime,
                                    .pool = life->pool,
                                    .submit = submit,
                                    .submit_arg = life,
                                    .ask = sim_lookup_ask,
                                    .ask_steadily = sim_lookup_ask_steadily,
                                    .ask_arg = life};
    if ((world->plan.pipelines & SIM_NEWS) != 0)
        add_news(life);
    if (world->ledger != NULL)
        life->ledger = sim_ledger_life_new(life);
    if (world->content != NULL)
        life->content = sim_content_life_new(life);
    sim_trace(world, "born in epoch %" PRId64, life->store.epoch);
    life->start = (struct timer){.fn = start, .arg = life};
    timer_heap_arm(&life->timers, &life->start,
                   world->now_us + sim_between(&world->swarm, 0, 3 * SECOND_US));
    return life;
}

void sim_life_free(struct sim_life *life)
{
    life->ended = true;
    if (life->content != NULL)
        sim_content_life_stop(life->content);
    sim_lookup_free(life);
    sim_writer_drop(&life->writer);
    if (life->source != NULL)
        life->source->ops->free(life->source);
    if (life->ledger != NULL)
        sim_ledger_life_free(life->ledger);
    if (life->content != NULL)
        sim_content_life_free(life->content);
    sim_connections_free(life);
    sim_http_free(life);
    timer_heap_disarm(&life->timers, &life->start);
    timer_heap_deinit(&life->timers);
    batch_pool_free(life->pool);
    free(life);
}

static void be_born(void *arg)
{
    struct sim_world *world = arg;
    assert(world->life == NULL);
    world->life = sim_life_new(world);
}

static void end_life(struct sim_world *world, bool crash)
{
    struct source_view view = {0};
    const struct source *source = world->life->source;
    if (source != NULL)
        source->ops->view(source, &view);
    if (crash && source != NULL)
        sim_saw((enum sim_sight)(SIGHT_CRASH_IDLE + (int)view.state));
    if (crash && world->life->writer.under_way > 0)
        sim_saw(SIGHT_CRASH_WITH_BATCHES);
    sim_trace(world, "%s in state %d", crash ? "crash" : "end", (int)view.state);
    sim_life_free(world->life);
    world->life = NULL;
    sim_reader_look(world); /* nobody writes: what is there stays there */
    bool long_away = sim_between(&world->swarm, 0, 3) == 0;
    int64_t away_us = sim_between(&world->swarm, 0, (long_away ? 300 : 10) * SECOND_US);
    timer_heap_arm(&world->timers, &world->birth, world->now_us + away_us);
}

static void end_zombie(struct sim_world *world)
{
    if (world->zombie->writer.dead)
        sim_saw(SIGHT_ZOMBIE_FENCED);
    sim_trace(world, "zombie ends");
    sim_life_free(world->zombie);
    world->zombie = NULL;
}

/* The process is taken for dead and replaced, but it is not. */
static void haunt(struct sim_world *world)
{
    if (world->zombie != NULL)
        end_zombie(world);
    world->zombie = world->life;
    world->zombie->end_by_us =
        world->now_us + sim_between(&world->swarm, SECOND_US / 10, 120 * SECOND_US);
    world->life = sim_life_new(world);
}

static void stop_cleanly(struct sim_world *world)
{
    struct sim_life *life = world->life;
    life->stopping = true;
    life->end_by_us = world->now_us + 10 * SECOND_US;
    sim_trace(world, "stopping");
    if (life->source != NULL)
        life->source->ops->stop(life->source);
    if (life->ledger != NULL)
        sim_ledger_life_stop(life->ledger);
    if (life->content != NULL)
        sim_content_life_stop(life->content);
}

static bool has_stopped(const struct sim_life *life)
{
    bool news = life->source == NULL || life->source->ops->stopped(life->source);
    bool ledger = life->ledger == NULL || sim_ledger_life_stopped(life->ledger);
    bool content = life->content == NULL || sim_content_life_stopped(life->content);
    return (news && ledger && content) || life->world->now_us >= life->end_by_us;
}

/* ---- time ---- */

/* What happens to a machine whatever the process does. */
static void change_weather(void *arg)
{
    struct sim_world *world = arg;
    struct sim_swarm *swarm = &world->swarm;
    if (swarm->healed)
        return;
    if (world->wall_offset_us < WALL_US_MAX && sim_strikes(swarm, FAULT_WALL_FORWARD))
        world->wall_offset_us += sim_between(swarm, 1, 7200) * SECOND_US;
    if (world->wall_offset_us > -WALL_US_MAX && sim_strikes(swarm, FAULT_WALL_BACK))
        world->wall_offset_us -= sim_between(swarm, 1, 7200) * SECOND_US;
    if (sim_strikes(swarm, FAULT_STORE_STALL))
        world->stalled_until_us = world->now_us + sim_between(swarm, 1, 600) * SECOND_US;
    struct sim_life *life = world->life;
    bool well = life != NULL && !life->stopping && life->start.index == 0;
    if (well && sim_strikes(swarm, FAULT_CLEAN_STOP))
        stop_cleanly(world);
    else if (well && sim_strikes(swarm, FAULT_ZOMBIE))
        haunt(world);
    timer_heap_arm(&world->timers, &world->weather,
                   world->now_us + sim_between(swarm, SECOND_US / 2, 20 * SECOND_US));
}

static struct timer_heap *find_next(struct sim_world *world, int64_t *due_us)
{
    struct timer_heap *heaps[] = {&world->timers,
                                  world->zombie == NULL ? NULL : &world->zombie->timers,
                                  world->life == NULL ? NULL : &world->life->timers};
    struct timer_heap *first = NULL;
    int64_t at_us;
    for (size_t i = 0; i < sizeof heaps / sizeof heaps[0]; i++)
        if (heaps[i] != NULL && timer_heap_next(heaps[i], &at_us) &&
            (first == NULL || at_us < *due_us)) {
            first = heaps[i];
            *due_us = at_us;
        }
    return first;
}

static void bury(struct sim_world *world)
{
    if (world->zombie != NULL &&
        (world->zombie->dying || world->now_us >= world->zombie->end_by_us))
        end_zombie(world);
    struct sim_life *life = world->life;
    if (life == NULL)
        return;
    bool stopped = life->stopping && has_stopped(life);
    if (life->dying || sim_strikes(&world->swarm, FAULT_CRASH_BETWEEN))
        end_life(world, true);
    else if (stopped)
        end_life(world, false);
}

/* One scheduled event; false when nothing is scheduled any more. */
static bool step(struct sim_world *world)
{
    int64_t due_us = 0;
    struct timer_heap *heap = find_next(world, &due_us);
    if (heap == NULL)
        return false;
    world->steps++;
    if (due_us > world->now_us)
        world->now_us = due_us;
    struct timer *timer = timer_heap_pop(heap, world->now_us);
    assert(timer != NULL);
    timer->fn(timer->arg);
    bury(world);
    sim_verdict_step(world);
    sim_trace_number(world, "step", world->steps);
    return true;
}

/* ---- a run ---- */

static void choose_shape(struct sim_world *world)
{
    struct sim_swarm *swarm = &world->swarm;
    bool huge = sim_has(swarm, FAULT_HUGE_FRAME);
    bool cut = sim_has(swarm, FAULT_RETENTION);
    int64_t retention_us = sim_between(swarm, 20, 200) * SECOND_US;
    world->shape = (struct sim_shape){
        .ring_bytes = (size_t)(huge ? sim_between(swarm, 64, 128) : sim_between(swarm, 1, 12))
                      << 13,
        .arena_bytes = (size_t)(huge ? sim_between(swarm, 112, 160) : sim_between(swarm, 36, 80))
                       << 10,
        .batches = (unsigned)sim_between(swarm, 2, 6),
        .writer_batches = (unsigned)sim_between(swarm, 1, 7),
        .retention_us = cut ? retention_us : 86400 * SECOND_US,
        .window_us = cut ? retention_us : 0,
        .hosts = (int)sim_between(swarm, 1, SIM_HOSTS)};
}

static void drain(struct sim_world *world)
{
    world->swarm.healed = true;
    world->healed_us = world->now_us;
    sim_trace(world, "healed");
    /* With a clock that is behind, one event alone shows nothing, and this upstream has no later
     * ones: the clock is set, and the process begun anew. */
    if (sim_has(&world->swarm, FAULT_WALL_BACK)) {
        world->wall_offset_us = 0;
        if (world->life != NULL)
            end_life(world, true);
    }
    int64_t tip_us = world->history.events[world->history.count - 1].at_us;
    int64_t by_us = (world->now_us > tip_us ? world->now_us : tip_us) + DRAIN_US_MAX;
    for (uint64_t i = 0; !sim_verdict_drained(world); i++)
        if (i == DRAIN_STEP_MAX || world->now_us > by_us || !step(world))
            sim_fail(world,
                     "liveness: healed, but stuck at event %zu of %zu, with %zu rows and at "
                     "block %" PRIu64,
                     world->db.verified, world->history.count,
                     world->ledger == NULL ? 0 : world->ledger->row_count,
                     world->content == NULL ? 0 : world->content->position);
}

/* Faults last for so many steps, or as long as the days do. */
static bool is_troubled(const struct sim_world *world, uint64_t steps)
{
    int64_t tip_us = world->history.events[world->history.count - 1].at_us;
    bool by_days = world->plan.days > 0 && world->plan.steps == 0;
    return by_days ? world->now_us < tip_us : world->steps < steps;
}

uint64_t sim_world_run(const struct sim_plan *plan)
{
    struct sim_world *world = memory_new_zeroed(1, sizeof *world);
    uint64_t steps = plan->steps;
    world->plan = *plan;
    if (plan->pipelines == 0)
        world->plan.pipelines = SIM_ALL;
    world->last_host = -1;
    world->now_us = SIM_BEGIN_US;
    world->weather = (struct timer){.fn = change_weather, .arg = world};
    world->birth = (struct timer){.fn = be_born, .arg = world};
    sim_swarm_init(&world->swarm, plan->seed, plan->without);
    sim_history_init(&world->history, &world->swarm, plan->events_max, plan->days);
    sim_db_init(&world->db, world->history.count);
    choose_shape(world);
    if ((world->plan.pipelines & SIM_LEDGER) != 0)
        sim_ledger_init(world);
    if ((world->plan.pipelines & SIM_CONTENT) != 0)
        sim_content_init(world);
    if (steps == 0)
        steps = world->history.count * (uint64_t)sim_between(&world->swarm, 1, 6);
    timer_heap_arm(&world->timers, &world->weather, world->now_us + SECOND_US);
    timer_heap_arm(&world->timers, &world->birth, world->now_us);
    sim_reader_init(world);
    while (is_troubled(world, steps) && step(world))
        ;
    drain(world);
    sim_verdict_end(world);
    uint64_t trace = world->trace;
    if (world->zombie != NULL)
        sim_life_free(world->zombie);
    if (world->life != NULL)
        sim_life_free(world->life);
    timer_heap_disarm(&world->timers, &world->weather);
    timer_heap_disarm(&world->timers, &world->birth);
    sim_reader_deinit(world);
    timer_heap_deinit(&world->timers);
    if (world->ledger != NULL)
        sim_ledger_deinit(world);
    if (world->content != NULL)
        sim_content_deinit(world);
    sim_db_deinit(&world->db);
    sim_history_deinit(&world->history);
    free(world->openings);
    free(world->wire_garbage);
    free(world);
    return trace;
}
