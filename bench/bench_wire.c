/* SPDX-License-Identifier: Apache-2.0
 *
 * The firehose from the socket on: what one event costs in CPU time.
 *
 * jetstream_wire: compressed frames over a websocket, ten thousand follows, parse of what matches,
 * against zstd and simdjson with nothing around them and no socket. jetstream_skyware and
 * jetstream_atcute: the same task with plain frames (neither unpacks others), against other clients
 * of the wire that look each author up in a set; the second validates. Whoever sends is another
 * thread; only the reader's time counts. Best round of each.
 *
 *   bench_wire JS_RUNNER */
#include "event_fields.h"
#include "packed_stock.h"
#include "source/jetstream.h"
#include "sys/network.h"
#include "ws_sender.h"

#include <assert.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define EVENTS       60000
#define ACCOUNTS     100000
#define FOLLOWS      10000
#define ROUNDS       7
#define BATCHES      16
#define BATCH_BYTES  ((size_t)512 << 10)
#define PLAIN_MAX    ((size_t)1 << 20)
#define LOOK_US      2000
#define JS_ROUNDS    3
#define FOLLOWS_FILE "bench_follows.txt"

struct desk {
    struct packed_stock stock;
    ZSTD_DCtx *context;
    ZSTD_DDict *dictionary;
    char *plain;
};

/* The product, with a writer that has always just written. */
struct reader {
    struct loop *loop;
    struct runtime *runtime;
    struct source *source;
    struct timer look, answer;
    struct batch *batches[BATCHES];
    size_t batch_count;
};

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void answer(void *arg)
{
    struct reader *reader = arg;
    size_t count = reader->batch_count;
    struct batch *batches[BATCHES];
    memcpy(batches, reader->batches, sizeof batches);
    reader->batch_count = 0;
    for (size_t i = 0; i < count; i++)
        batches[i]->answered(batches[i]->owner, batches[i], RC_OK);
}

static enum rc submit(void *arg, struct batch *batch)
{
    struct reader *reader = arg;
    assert(reader->batch_count < BATCHES);
    reader->batches[reader->batch_count++] = batch;
    reader->runtime->ops->timer_arm(reader->runtime, &reader->answer, 0);
    return RC_OK;
}

static void look(void *arg)
{
    struct reader *reader = arg;
    struct source_view view = {0};
    reader->source->ops->view(reader->source, &view);
    if (view.events >= EVENTS)
        loop_stop(reader->loop);
    else
        reader->runtime->ops->timer_arm(reader->runtime, &reader->look, LOOK_US);
}

static void follow(struct source *source, const struct packed_stock *stock)
{
    struct bytes *dids = memory_new_zeroed(stock->follow_count, sizeof *dids);
    for (size_t i = 0; i < stock->follow_count; i++)
        dids[i] = bytes_make(stock->follows.data + i * stock->did_len, stock->did_len);
    jetstream_change_follows(source, dids, stock->follow_count, NULL, 0);
    free(dids);
}

static void finish(struct reader *reader)
{
    reader->source->ops->stop(reader->source);
    for (int i = 0; i < 1000 && !reader->source->ops->stopped(reader->source); i++) {
        reader->runtime->ops->timer_arm(reader->runtime, &reader->look, LOOK_US);
        loop_run(reader->loop);
    }
    reader->runtime->ops->timer_disarm(reader->runtime, &reader->look);
    answer(reader);
}

/* The CPU time that the reader's thread needs for all events. */
static double read_stream(struct desk *desk, bool packed)
{
    const struct packed_stock *stock = &desk->stock;
    struct ws_sender_stock events = {packed ? stock->frames.data : stock->plain.data,
                                     packed ? stock->start : stock->plain_start, stock->count,
                                     packed};
    struct ws_sender_options sending = {.stock = events, .events = EVENTS};
    struct ws_sender *sender = ws_sender_start(&sending);
    struct reader reader = {.loop = loop_new()};
    struct network *network = network_new(reader.loop, &(struct network_options){0});
    struct batch_pool *pool = batch_pool_new(BATCHES, BATCH_BYTES);
    char endpoint[64];
    struct err err;
    snprintf(endpoint, sizeof endpoint, "ws://127.0.0.1:%u/subscribe", ws_sender_port(sender));
    reader.runtime = loop_runtime(reader.loop);
    reader.look = (struct timer){.fn = look, .arg = &reader};
    reader.answer = (struct timer){.fn = answer, .arg = &reader};
    struct source_env env = {
        .runtime = reader.runtime, .pool = pool, .submit = submit, .submit_arg = &reader};
    struct jetstream_options options = {.endpoints = {endpoint},
                                        .reconnect_delay_seconds = 5,
                                        .only_followed = true,
                                        .compress = packed,
                                        .dictionary_v1 = text_bytes(&stock->dictionary)};
    enum rc rc = jetstream_new(&env, &options, &reader.source, &err);
    assert(rc == RC_OK);
    follow(reader.source, stock);
    double before = cpu_now();
    reader.source->ops->start(reader.source);
    look(&reader);
    loop_run(reader.loop);
    double taken = cpu_now() - before;
    finish(&reader);
    network_free(network);
    reader.source->ops->free(reader.source);
    batch_pool_free(pool);
    loop_free(reader.loop);
    ws_sender_stop(sender);
    return taken;
}

static double read_bare(struct desk *desk)
{
    double before = cpu_now();
    for (size_t i = 0; i < desk->stock.count; i++) {
        struct event_fields fields = {0};
        struct bytes frame = packed_stock_frame(&desk->stock, i);
        size_t len = ZSTD_decompress_usingDDict(desk->context, desk->plain, PLAIN_MAX, frame.data,
                                                frame.len, desk->dictionary);
        bool read = !ZSTD_isError(len) && floor_extract(bytes_make(desk->plain, len), &fields);
        assert(read);
    }
    return cpu_now() - before;
}

/* What a program says until it ends; "" when it cannot be run. */
static void hear_program(const char *const *argv, char *words, size_t size)
{
    int ends[2];
    pid_t pid;
    char *args[8] = {0}; /* posix_spawn() promises to change none */
    size_t len = 0;
    posix_spawn_file_actions_t actions;
    for (size_t i = 0; argv[i] != NULL; i++)
        memcpy(&args[i], &argv[i], sizeof args[i]);
    bool piped = pipe2(ends, O_CLOEXEC) == 0;
    assert(piped);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    bool running = posix_spawn(&pid, args[0], &actions, NULL, args, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    for (ssize_t got = 1; running && got > 0 && len + 1 < size; len += (size_t)got)
        if ((got = read(ends[0], words + len, size - 1 - len)) <= 0)
            break;
    words[len] = '\0';
    close(ends[0]);
    if (running)
        waitpid(pid, NULL, 0);
}

/* CPU seconds of somebody else's client for all events; below 0: it could not be had. */
static double read_with(const struct packed_stock *stock, const char *runner, const char *name)
{
    struct ws_sender_stock events = {stock->plain.data, stock->plain_start, stock->count, false};
    struct ws_sender_options sending = {.stock = events, .events = EVENTS, .restamp = true};
    struct ws_sender *sender = ws_sender_start(&sending);
    char port[16], count[16], line[256] = "";
    double cpu_us = -1;
    snprintf(port, sizeof port, "%u", ws_sender_port(sender));
    snprintf(count, sizeof count, "%d", EVENTS);
    hear_program((const char *[]){runner, "bench_js", name, port, count, FOLLOWS_FILE, NULL}, line,
                 sizeof line);
    (void)sscanf(line, "{\"cpu_us\":%lf", &cpu_us);
    ws_sender_stop(sender);
    return cpu_us / 1e6;
}

/* One DID per line, for the others. */
static void write_follows(const struct packed_stock *stock)
{
    FILE *file = fopen(FOLLOWS_FILE, "w");
    assert(file != NULL);
    for (size_t i = 0; i < stock->follow_count; i++)
        fprintf(file, "%.*s\n", (int)stock->did_len, stock->follows.data + i * stock->did_len);
    fclose(file);
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static bool print_ratio(const char *name, double ours, double theirs, double ratio, double goal)
{
    bool ok = ratio >= goal;
    printf("{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"us/event\",\"against\":%.3f,\"ratio\":%.3f,"
           "\"goal\":%.1f,\"ok\":%s}\n",
           name, ours * 1e6 / EVENTS, theirs * 1e6 / EVENTS, ratio, goal, ok ? "true" : "false");
    return ok;
}

int main(int argc, char **argv)
{
    static struct desk desk;
    assert(argc == 2);
    packed_stock_init(&desk.stock, EVENTS, ACCOUNTS, FOLLOWS);
    desk.context = ZSTD_createDCtx();
    desk.dictionary = ZSTD_createDDict(desk.stock.dictionary.data, desk.stock.dictionary.len);
    desk.plain = calloc(1, PLAIN_MAX + ARENA_PAD);
    assert(desk.context != NULL && desk.dictionary != NULL && desk.plain != NULL);
    double wire = 1e9, bare = 1e9, plain = 1e9, skyware = 1e9, atcute = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        bare = lesser(bare, read_bare(&desk));
        wire = lesser(wire, read_stream(&desk, true));
        plain = lesser(plain, read_stream(&desk, false));
    }
    write_follows(&desk.stock);
    for (int i = 0; i < JS_ROUNDS; i++) {
        skyware = lesser(skyware, read_with(&desk.stock, argv[1], "skyware"));
        atcute = lesser(atcute, read_with(&desk.stock, argv[1], "atcute"));
    }
    remove(FOLLOWS_FILE);
    bool ok = print_ratio("jetstream_wire", wire, bare, bare / wire, 0.6);
    ok = print_ratio("jetstream_skyware", plain, skyware, skyware / plain, 3) && ok;
    ok = print_ratio("jetstream_atcute", plain, atcute, atcute / plain, 6) && ok;
    packed_stock_deinit(&desk.stock);
    ZSTD_freeDCtx(desk.context);
    ZSTD_freeDDict(desk.dictionary);
    free(desk.plain);
    return ok ? 0 : 1;
}
