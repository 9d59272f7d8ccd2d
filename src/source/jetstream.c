/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream.h"

#include "source/jetstream_parts.h"
#include "source/source_view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RING_BYTES  ((size_t)16 << 20)
#define WINDOW_US   INT64_C(86400000000)
#define STREAM_NAME "live"
/* A host that is back is dialled within this time, however long it was gone. */
#define RECONNECT_US_MAX INT64_C(60000000)
#define SETTLE_US        INT64_C(2000000) /* until a server heeds a word, and feeds show an event */

static struct jetstream *of(struct source *source)
{
    return (struct jetstream *)source;
}

/* ---- what the intake asks for ---- */

/* What lies between the position that was forgotten and the first event since. */
static enum rc end_forgetting(struct jetstream *js, struct batch *batch)
{
    if (js->forgotten_us == 0 || js->forgotten_to_us == 0)
        return RC_OK;
    enum rc rc = gap_end(&js->gaps, batch, js->forgotten_us, js->forgotten_to_us,
                         "its position was forgotten", jetstream_wall(js));
    if (rc == RC_OK)
        js->forgotten_us = 0;
    return rc;
}

static enum rc add_cursor(void *arg, int64_t position, struct batch *batch)
{
    struct jetstream *js = arg;
    assert(position == js->place.stand.time_us);
    /* What does not fit is opened by the next unit, and until then the stored cursor does not pass
     * it. */
    if (gap_open_noted(&js->gaps, batch, jetstream_wall(js)) != RC_OK ||
        end_forgetting(js, batch) != RC_OK)
        return RC_OK;
    return jetstream_place_write(&js->place, js->doc, jetstream_wall(js), batch);
}

static enum rc submit(void *arg, struct batch *batch)
{
    struct jetstream *js = arg;
    return js->env.submit(js->env.submit_arg, batch);
}

static void hold(void *arg, bool on)
{
    struct jetstream *js = arg;
    if (js->ws != NULL)
        js->env.runtime->ops->ws_hold(js->ws, on);
}

static void relieved(void *arg)
{
    struct jetstream *js = arg;
    if (js->ws == NULL && js->state == SOURCE_WAITING)
        jetstream_connection_dial_later(js, 0);
}

static void writer_failed(void *arg)
{
    struct jetstream *js = arg;
    js->state = SOURCE_STOPPED;
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->again);
    jetstream_packing_cancel(&js->packing);
    jetstream_connection_close(js, "stopping");
}

void jetstream_change_follows(struct source *source, const struct bytes *added, size_t added_count,
                              const struct bytes *removed, size_t removed_count)
{
    struct jetstream *js = of(source);
    bool changed = false, added_one = false;
    for (size_t i = 0; i < removed_count; i++)
        changed |= id_set_remove(&js->filter.wanted, removed[i]);
    for (size_t i = 0; i < added_count; i++)
        added_one |= id_set_add(&js->filter.wanted, added[i]);
    changed |= added_one;
    js->untold |= added_one;
    if (changed && !js->filter.everybody)
        js->env.runtime->ops->timer_arm(js->env.runtime, &js->tell, 0);
}

bool jetstream_hears(struct source *source, struct bytes did)
{
    struct jetstream *js = of(source);
    if (js->filter.everybody || !id_set_contains(&js->filter.wanted, did))
        return js->filter.everybody;
    if (js->state == SOURCE_LIVE)
        return !js->untold && jetstream_mono(js) - js->told_us >= SETTLE_US;
    if (js->place.stand.time_us > 0)
        return true;
    if (js->state == SOURCE_DIALLING)
        return false; /* it asks for what happens once it stands, and soon does or does not */
    if (js->blind_us == 0)
        js->blind_us = jetstream_wall(js);
    return true;
}

/* ---- the source ---- */

static void start(struct source *source)
{
    struct jetstream *js = of(source);
    assert(js->state == SOURCE_IDLE);
    jetstream_connection_dial_later(js, 0);
}

/* A dropped connection is itself the first failure; before the first dial nobody waits. */
static struct retry_schedule reconnect_schedule(uint32_t delay_seconds)
{
    struct retry_schedule dials = retry_schedule_reconnect(delay_seconds, 0), schedule = dials;
    assert(dials.delay_count < RETRY_STEPS_MAX);
    schedule.delays_us[0] = 0;
    memcpy(schedule.delays_us + 1, dials.delays_us, dials.delay_count * sizeof *dials.delays_us);
    schedule.delay_count = dials.delay_count + 1;
    return schedule;
}

static void tune(struct source *source, const struct source_tuning *tuning)
{
    struct jetstream *js = of(source);
    assert(tuning->reconnect_delay_seconds > 0);
    js->attempts_max = tuning->max_reconnect_attempts;
    js->hosts.settings.schedule = reconnect_schedule(tuning->reconnect_delay_seconds);
}

static void stop(struct source *source)
{
    struct jetstream *js = of(source);
    js->state = SOURCE_STOPPED;
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->again);
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->tell);
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->cutover);
    jetstream_packing_cancel(&js->packing);
    jetstream_connection_close(js, "stopping");
    intake_stop(&js->intake);
}

static bool stopped(const struct source *source)
{
    const struct jetstream *js = (const struct jetstream *)source;
    return js->state == SOURCE_STOPPED && js->ws == NULL && intake_idle(&js->intake);
}

static void view(const struct source *source, struct source_view *out)
{
    const struct jetstream *js = (const struct jetstream *)source;
    *out = (struct source_view){
        .state = js->state,
        .failures = js->failures,
        .alerting = js->failures >= RETRY_ALERT_FAILURES,
        .received_us = js->intake.received,
        .staged_us = js->intake.staged,
        .committed_us = js->intake.committed,
        .last_event_us = js->intake.last_event_us,
        .events = js->intake.events,
        .records = js->intake.records,
        .rejected = js->intake.rejected,
        .reconnects = js->reconnects,
        .bytes = js->intake.bytes,
        .filtered = js->filtered,
        .left_out = js->left_out,
        .ahead = js->ahead,
        .compressed = js->state == SOURCE_LIVE && js->packing.current != NULL,
        .follows = js->filter.everybody ? 0 : id_set_count(&js->filter.wanted)};
    provider_words_copy(out->provider, sizeof out->provider, jetstream_host_name(js));
    source_show_providers(&js->hosts, js->pick.provider, jetstream_mono(js), out);
    out->trouble[0] = '\0';
    if (js->state != SOURCE_LIVE)
        provider_words_copy(out->trouble, sizeof out->trouble, js->trouble.text);
}

static void free_jetstream(struct source *source)
{
    struct jetstream *js = of(source);
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->again);
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->tell);
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->cutover);
    jetstream_packing_deinit(&js->packing);
    jetstream_filter_deinit(&js->filter);
    intake_deinit(&js->intake);
    json_doc_free(js->doc);
    for (size_t i = 0; i < js->collection_count; i++)
        free(js->collections[i]);
    free(js->collections);
    for (size_t i = 0; i < JETSTREAM_ENDPOINTS_MAX; i++)
        jetstream_host_deinit(&js->known[i]);
    free(js);
}

static const struct source_ops jetstream_ops = {.name = JETSTREAM_NAME,
                                                .start = start,
                                                .tune = tune,
                                                .stop = stop,
                                                .stopped = stopped,
                                                .view = view,
                                                .free = free_jetstream};

static const struct intake_ops intake_ops = {.decode = jetstream_frames_decode,
                                             .cursor = add_cursor,
                                             .submit = submit,
                                             .hold = hold,
                                             .relieved = relieved,
                                             .failed = writer_failed};

static enum rc add_host(struct jetstream *js, const char *endpoint, int32_t priority,
                        struct err *err)
{
    struct jetstream_host host;
    int number;
    enum rc rc = jetstream_host_init(&host, endpoint, err);
    struct provider_spec spec = {.name = host.name,
                                 .kinds = cursor_bit(CURSOR_TIME_US) | cursor_bit(CURSOR_SEQ),
                                 .kind_preferred = cursor_bit(CURSOR_TIME_US),
                                 .replay_us = JETSTREAM_CROSS_REPLAY_US,
                                 .open_us_max = RECONNECT_US_MAX,
                                 .priority = priority};
    if (rc == RC_OK)
        rc = failover_add(&js->hosts, &spec, jetstream_mono(js), &number, err);
    if (rc == RC_OK)
        js->known[number] = host;
    else
        jetstream_host_deinit(&host);
    return rc;
}

static enum rc set_up(struct jetstream *js, const struct jetstream_options *options,
                      struct err *err)
{
    struct failover_settings settings;
    failover_settings_default(&settings);
    settings.schedule = reconnect_schedule(options->reconnect_delay_seconds);
    failover_init(&js->hosts, &settings);
    for (size_t i = 0; i < JETSTREAM_ENDPOINTS_MAX && options->endpoints[i] != NULL; i++) {
        enum rc rc = add_host(js, options->endpoints[i], (int32_t)i, err);
        if (rc != RC_OK)
            return rc;
    }
    if (js->hosts.count == 0)
        return err_set(err, RC_REJECT, "no jetstream endpoint is configured");
    failover_stream_init(&js->stream, &js->hosts, STREAM_NAME);
    js->collections = memory_new_zeroed(options->collection_count + 1, sizeof *js->collections);
    for (size_t i = 0; i < options->collection_count; i++)
        js->collections[js->collection_count++] = memory_copy_string(options->collections[i]);
    js->no_posts = options->no_posts;
    js->no_reposts = options->no_reposts;
    js->forgotten_us = options->forgotten_us;
    jetstream_place_begin(&js->place, options->start_us);
    if (options->cursor_state.data != NULL) {
        enum rc rc = jetstream_place_resume(&js->place, js->doc, options->cursor_state, err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "the stored cursor of jetstream is unusable");
    }
    intake_resume(&js->intake, js->place.stand.time_us);
    return RC_OK;
}

enum rc jetstream_new(const struct source_env *env, const struct jetstream_options *options,
                      struct source **source, struct err *err)
{
    assert(env != NULL && options != NULL && source != NULL);
    struct jetstream *js = memory_new_zeroed(1, sizeof *js);
    js->source.ops = &jetstream_ops;
    js->env = *env;
    js->ping_ms = options->ping_ms;
    js->pong_ms_max = options->pong_ms_max;
    js->attempts_max = options->max_reconnect_attempts;
    js->pick.provider = PROVIDER_NONE;
    gap_notes_init(&js->gaps, JETSTREAM_NAME, STREAM_NAME);
    js->again = (struct timer){.fn = jetstream_connection_dial, .arg = js};
    js->tell = (struct timer){.fn = jetstream_connection_tell_filter, .arg = js};
    js->cutover = (struct timer){.fn = jetstream_cutover_look, .arg = js};
    size_t ring_bytes = options->ring_bytes == 0 ? RING_BYTES : options->ring_bytes;
    js->frame_bytes_max =
        ring_bytes / 2 < JETSTREAM_FRAME_BYTES_MAX ? ring_bytes / 2 : JETSTREAM_FRAME_BYTES_MAX;
    js->doc = json_doc_new(JETSTREAM_FRAME_BYTES_MAX, JSON_DEPTH_MAX);
    jetstream_place_init(&js->place, options->window_us == 0 ? WINDOW_US : options->window_us);
    jetstream_filter_init(&js->filter, !options->only_followed,
                          options->only_followed ? env->runtime->ops->random(env->runtime) : 0);
    jetstream_packing_init(&js->packing, env->runtime, options->compress, options->dictionary_v1,
                           options->dictionary_v2);
    js->packing.keep = options->keep_dictionary;
    js->packing.keep_arg = options->keep_arg;
    intake_init(&js->intake, &intake_ops, js, env->runtime, env->pool, JETSTREAM_NAME, ring_bytes);
    enum rc rc = set_up(js, options, err);
    if (rc != RC_OK) {
        free_jetstream(&js->source);
        return rc;
    }
    *source = &js->source;
    return RC_OK;
}
