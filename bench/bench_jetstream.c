/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a frame from the wire to a record: zstd, the filter over ten thousand follows, parse
 * of what matches. Against the two libraries with nothing around them, which parse every event, in
 * turns, best round of each. And what decompression alone takes of a processor at 500 events a
 * second, against 1 % (R001-153). */
#include "base/id_set.h"
#include "decode/jetstream_event.h"
#include "decode/jetstream_peek.h"
#include "decode/zstd_frame.h"
#include "event_fields.h"
#include "packed_stock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#define EVENTS      40000
#define ACCOUNTS    100000
#define FOLLOWS     10000
#define ROUNDS      15
#define GOAL        0.6
#define RATE        500
#define UNPACK_MAX  1.0 /* percent */
#define PLAIN_MAX   ((size_t)1 << 20)
#define ARENA_BYTES ((size_t)512 << 10)
#define CPU_CLOCK   CLOCK_PROCESS_CPUTIME_ID

struct desk {
    struct packed_stock stock;
    struct zstd_decoder *decoder;
    struct json_doc *doc;
    struct batch batch;
    struct id_set follows;
    ZSTD_DCtx *context;
    ZSTD_DDict *dictionary;
    char *plain;
    uint64_t matched;
};

static bool wants(const void *arg, struct bytes did)
{
    return id_set_contains(arg, did);
}

static void empty_batch(struct batch *batch)
{
    struct arena arena = batch->arena;
    *batch = (struct batch){.arena = arena};
    arena_reset(&batch->arena);
}

static void run_product(struct desk *desk)
{
    struct jetstream_terms terms = {
        .wants = wants, .arg = &desk->follows, .now_us = INT64_MAX, .until_us = INT64_MAX};
    desk->matched = 0;
    for (size_t i = 0; i < desk->stock.count; i++) {
        struct jetstream_peek peek;
        struct jetstream_event event;
        struct bytes json;
        enum rc rc =
            zstd_decoder_decode(desk->decoder, packed_stock_frame(&desk->stock, i), &json, NULL);
        assert(rc == RC_OK);
        if (jetstream_peek(json, &peek) && !id_set_contains(&desk->follows, peek.did))
            continue;
        rc = jetstream_event_decode_on(desk->doc, json, &terms, &desk->batch, &event, NULL);
        if (rc == RC_AGAIN) {
            empty_batch(&desk->batch);
            rc = jetstream_event_decode_on(desk->doc, json, &terms, &desk->batch, &event, NULL);
        }
        assert(rc == RC_OK);
        desk->matched++;
    }
}

static size_t unpack(struct desk *desk, size_t number)
{
    struct bytes frame = packed_stock_frame(&desk->stock, number);
    size_t len = ZSTD_decompress_usingDDict(desk->context, desk->plain, PLAIN_MAX, frame.data,
                                            frame.len, desk->dictionary);
    assert(!ZSTD_isError(len));
    return len;
}

static void run_floor(struct desk *desk)
{
    for (size_t i = 0; i < desk->stock.count; i++) {
        struct event_fields fields = {0};
        bool read = floor_extract(bytes_make(desk->plain, unpack(desk, i)), &fields);
        assert(read);
    }
}

static void run_zstd(struct desk *desk)
{
    for (size_t i = 0; i < desk->stock.count; i++)
        unpack(desk, i);
}

static void run_unpacking(struct desk *desk)
{
    for (size_t i = 0; i < desk->stock.count; i++) {
        struct bytes json;
        enum rc rc =
            zstd_decoder_decode(desk->decoder, packed_stock_frame(&desk->stock, i), &json, NULL);
        assert(rc == RC_OK);
    }
}

static double seconds_of(struct desk *desk, void (*run)(struct desk *desk), double best)
{
    struct timespec before, after;
    clock_gettime(CPU_CLOCK, &before);
    run(desk);
    clock_gettime(CPU_CLOCK, &after);
    double taken =
        (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
    return taken < best ? taken : best;
}

static void set_up(struct desk *desk)
{
    packed_stock_init(&desk->stock, EVENTS, ACCOUNTS, FOLLOWS);
    struct bytes dictionary = text_bytes(&desk->stock.dictionary);
    enum rc rc = zstd_decoder_new(dictionary, PLAIN_MAX, &desk->decoder, NULL);
    assert(rc == RC_OK);
    desk->doc = json_doc_new(PLAIN_MAX, JSON_DEPTH_MAX);
    arena_init(&desk->batch.arena, ARENA_BYTES);
    id_set_init(&desk->follows, 42);
    for (size_t i = 0; i < desk->stock.follow_count; i++)
        id_set_add(&desk->follows, bytes_make(desk->stock.follows.data + i * desk->stock.did_len,
                                              desk->stock.did_len));
    assert(id_set_count(&desk->follows) == FOLLOWS);
    desk->context = ZSTD_createDCtx();
    desk->dictionary = ZSTD_createDDict(dictionary.data, dictionary.len);
    desk->plain = calloc(1, PLAIN_MAX + ARENA_PAD);
    assert(desk->context != NULL && desk->dictionary != NULL && desk->plain != NULL);
}

static void tear_down(struct desk *desk)
{
    ZSTD_freeDCtx(desk->context);
    ZSTD_freeDDict(desk->dictionary);
    free(desk->plain);
    id_set_deinit(&desk->follows);
    arena_deinit(&desk->batch.arena);
    json_doc_free(desk->doc);
    zstd_decoder_free(desk->decoder);
    packed_stock_deinit(&desk->stock);
}

int main(void)
{
    static struct desk desk;
    double product = 1e9, floor = 1e9, zstd = 1e9, unpacking = 1e9;
    set_up(&desk);
    for (int i = 0; i < ROUNDS; i++) {
        floor = seconds_of(&desk, run_floor, floor);
        product = seconds_of(&desk, run_product, product);
        zstd = seconds_of(&desk, run_zstd, zstd);
        unpacking = seconds_of(&desk, run_unpacking, unpacking);
    }
    double ratio = floor / product, us = 1e6 / EVENTS;
    fprintf(stderr,
            "%d events, %d follows, %.1f %% matched; us per event: ours %.3f, zstd and "
            "simdjson %.3f, zstd alone %.3f\n",
            EVENTS, FOLLOWS, (double)desk.matched * 100 / EVENTS, product * us, floor * us,
            zstd * us);
    printf("{\"name\":\"jetstream_frames\",\"value\":%.0f,\"unit\":\"events/s\",\"against\":%.0f,"
           "\"ratio\":%.3f,\"goal\":%.1f,\"ok\":%s}\n",
           EVENTS / product, EVENTS / floor, ratio, GOAL, ratio >= GOAL ? "true" : "false");
    double share = unpacking / EVENTS * RATE * 100;
    printf("{\"name\":\"decompression_cpu\",\"value\":%.3f,\"unit\":\"%%\",\"against\":%.1f,"
           "\"ratio\":%.3f,\"goal\":1.0,\"ok\":%s}\n",
           share, UNPACK_MAX, UNPACK_MAX / share, share <= UNPACK_MAX ? "true" : "false");
    tear_down(&desk);
    return ratio >= GOAL && share <= UNPACK_MAX ? 0 : 1;
}
