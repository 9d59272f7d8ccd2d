/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "decode/zstd_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zdict.h>
#include <zstd.h>

#define SAMPLES   2000
#define BYTES_MAX ((size_t)700 << 10) /* the buffer would grow past it */

struct desk {
    char dictionaries[2][8192];
    size_t lens[2];
    struct zstd_decoder *decoder;
    ZSTD_CCtx *context;
    struct text packed;
    struct err err;
};

static void put_sample(struct text *out, unsigned number)
{
    text_appendf(out,
                 "{\"did\":\"did:plc:%024u\",\"time_us\":%u,\"kind\":\"commit\",\"commit\":{"
                 "\"rev\":\"%013x\",\"operation\":\"create\",\"rkey\":\"%u\"}}",
                 number * 2654435761u, number, number * 40503u, number);
}

static size_t train(char *room, size_t size, unsigned id)
{
    struct text samples = {0};
    static size_t sizes[SAMPLES];
    for (unsigned i = 0; i < SAMPLES; i++) {
        size_t before = samples.len;
        put_sample(&samples, i * 7 + id);
        sizes[i] = samples.len - before;
    }
    size_t len = ZDICT_trainFromBuffer(room, size, samples.data, sizes, SAMPLES);
    assert_int_equal(ZDICT_isError(len), 0);
    for (int i = 0; i < 4; i++)
        room[4 + i] = (char)(id >> (8 * i));
    text_free(&samples);
    return len;
}

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    for (unsigned i = 0; i < 2; i++)
        desk->lens[i] = train(desk->dictionaries[i], sizeof desk->dictionaries[i], 70000 + i);
    assert_int_equal(zstd_decoder_new(bytes_make(desk->dictionaries[0], desk->lens[0]), BYTES_MAX,
                                      &desk->decoder, &desk->err),
                     RC_OK);
    desk->context = ZSTD_createCCtx();
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    zstd_decoder_free(desk->decoder);
    ZSTD_freeCCtx(desk->context);
    text_free(&desk->packed);
    free(desk);
    return 0;
}

/* Compresses with dictionary 0 or 1, or with none (2); the frame says its content's size or not. */
static struct bytes pack(struct desk *desk, struct bytes input, unsigned with, bool size_told)
{
    ZSTD_CCtx_reset(desk->context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(desk->context, ZSTD_c_contentSizeFlag, size_told);
    ZSTD_CCtx_setParameter(desk->context, ZSTD_c_checksumFlag, 1);
    if (with < 2)
        ZSTD_CCtx_loadDictionary(desk->context, desk->dictionaries[with], desk->lens[with]);
    text_clear(&desk->packed);
    char *room = text_reserve(&desk->packed, ZSTD_compressBound(input.len));
    size_t len =
        ZSTD_compress2(desk->context, room, ZSTD_compressBound(input.len), input.data, input.len);
    assert_int_equal(ZSTD_isError(len), 0);
    desk->packed.len = len;
    return text_bytes(&desk->packed);
}

static void a_frame_comes_out_as_it_went_in_with_its_size_told_or_not(void **state)
{
    struct desk *desk = *state;
    struct text line = {0};
    struct bytes out;
    for (unsigned i = 0; i < 50; i++) {
        text_clear(&line);
        put_sample(&line, i);
        struct bytes frame = pack(desk, text_bytes(&line), 0, i % 2 == 0);
        assert_true(frame.len < line.len);
        assert_int_equal(zstd_decoder_decode(desk->decoder, frame, &out, &desk->err), RC_OK);
        assert_true(bytes_equal(out, text_bytes(&line)));
    }
    assert_int_equal(zstd_decoder_id(desk->decoder), 70000);
    text_free(&line);
}

static void a_frame_larger_than_any_before_makes_the_buffer_grow(void **state)
{
    struct desk *desk = *state;
    struct text big = {0};
    struct bytes out;
    for (unsigned i = 0; big.len < BYTES_MAX - 200; i++)
        put_sample(&big, i);
    struct bytes frame = pack(desk, text_bytes(&big), 0, false);
    assert_int_equal(zstd_decoder_decode(desk->decoder, frame, &out, &desk->err), RC_OK);
    assert_true(bytes_equal(out, text_bytes(&big)));
    text_free(&big);
}

static void a_frame_that_holds_too_much_is_refused_whatever_it_says_of_its_size(void **state)
{
    struct desk *desk = *state;
    struct text bomb = {0};
    struct bytes out;
    memset(text_reserve(&bomb, BYTES_MAX * 8), 'x', BYTES_MAX * 8);
    bomb.len = BYTES_MAX * 8;
    for (int told = 0; told < 2; told++) {
        struct bytes frame = pack(desk, text_bytes(&bomb), 0, told);
        assert_true(frame.len < 4096);
        assert_int_equal(zstd_decoder_decode(desk->decoder, frame, &out, &desk->err), RC_REJECT);
        assert_non_null(strstr(desk->err.text, "more than 716800 bytes"));
    }
    text_free(&bomb);
}

static void what_was_made_with_another_dictionary_is_asked_for_again(void **state)
{
    struct desk *desk = *state;
    struct text line = {0};
    struct bytes out;
    put_sample(&line, 1);
    for (unsigned with = 1; with < 3; with++) {
        struct bytes frame = pack(desk, text_bytes(&line), with, true);
        assert_int_equal(zstd_decoder_decode(desk->decoder, frame, &out, &desk->err), RC_RETRY);
    }
    text_free(&line);
}

static void a_damaged_or_cut_frame_is_refused_and_the_next_one_is_not(void **state)
{
    struct desk *desk = *state;
    struct text line = {0}, damaged = {0};
    struct bytes out;
    put_sample(&line, 5);
    pack(desk, text_bytes(&line), 0, true);
    unsigned refused = 0;
    for (size_t at = 0; at < desk->packed.len; at++) {
        text_clear(&damaged);
        text_append(&damaged, desk->packed.data, desk->packed.len);
        damaged.data[at] = (char)(damaged.data[at] ^ 0x41);
        refused +=
            zstd_decoder_decode(desk->decoder, text_bytes(&damaged), &out, &desk->err) != RC_OK;
        enum rc rc =
            zstd_decoder_decode(desk->decoder, bytes_make(desk->packed.data, at), &out, &desk->err);
        assert_int_equal(rc, RC_REJECT);
    }
    /* A checksum stands at its end: nothing wrong gets through. */
    assert_int_equal(refused, desk->packed.len);
    assert_int_equal(
        zstd_decoder_decode(desk->decoder, text_bytes(&desk->packed), &out, &desk->err), RC_OK);
    text_append(&damaged, desk->packed.data, desk->packed.len);
    text_clear(&damaged);
    for (int twice = 0; twice < 2; twice++)
        text_append(&damaged, desk->packed.data, desk->packed.len);
    assert_int_equal(zstd_decoder_decode(desk->decoder, text_bytes(&damaged), &out, &desk->err),
                     RC_REJECT);
    text_free(&line);
    text_free(&damaged);
}

/* Half of a dictionary looks like one. What it does not open has to be sent again in plain. */
static void half_a_dictionary_never_passes_for_damaged_messages(void **state)
{
    struct desk *desk = *state;
    struct zstd_decoder *half;
    struct bytes out;
    unsigned again = 0;
    assert_int_equal(zstd_decoder_new(bytes_make(desk->dictionaries[0], desk->lens[0] / 2),
                                      BYTES_MAX, &half, &desk->err),
                     RC_OK);
    for (unsigned i = 0; i < 50; i++) {
        struct text line = {0};
        put_sample(&line, i * 7 + 70000);
        enum rc rc =
            zstd_decoder_decode(half, pack(desk, text_bytes(&line), 0, true), &out, &desk->err);
        assert_true(rc == RC_RETRY || (rc == RC_OK && bytes_equal(out, text_bytes(&line))));
        again += rc == RC_RETRY;
        text_free(&line);
    }
    assert_true(again > 0);
    zstd_decoder_free(half);
}

static void what_is_no_dictionary_is_refused(void **state)
{
    struct desk *desk = *state;
    struct zstd_decoder *decoder = NULL;
    assert_int_equal(zstd_decoder_new(bytes_of("<html>not found"), BYTES_MAX, &decoder, &desk->err),
                     RC_REJECT);
    assert_int_equal(zstd_decoder_new(BYTES_ABSENT, BYTES_MAX, &decoder, &desk->err), RC_REJECT);
    assert_int_equal(
        zstd_decoder_new(bytes_make(desk->dictionaries[0], 40), BYTES_MAX, &decoder, &desk->err),
        RC_REJECT);
    assert_null(decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_comes_out_as_it_went_in_with_its_size_told_or_not),
        cmocka_unit_test(a_frame_larger_than_any_before_makes_the_buffer_grow),
        cmocka_unit_test(a_frame_that_holds_too_much_is_refused_whatever_it_says_of_its_size),
        cmocka_unit_test(what_was_made_with_another_dictionary_is_asked_for_again),
        cmocka_unit_test(a_damaged_or_cut_frame_is_refused_and_the_next_one_is_not),
        cmocka_unit_test(half_a_dictionary_never_passes_for_damaged_messages),
        cmocka_unit_test(what_is_no_dictionary_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
