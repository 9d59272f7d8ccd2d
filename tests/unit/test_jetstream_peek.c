/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/timestamp.h"
#include "decode/jetstream_peek.h"
#include "sim/event_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DID "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"
#define V2(kind, rest)                                                                             \
    "{\"$type\":\"message\",\"payload\":{\"$type\":\"network.bsky.jetstream.subscribeEvents#" kind \
    "\"," rest "}}"
#define V2_END ",\"seq\":17,\"time\":\"2026-08-10T01:02:03.000004Z\""

static struct jetstream_peek peek;

static bool look(const char *frame)
{
    return jetstream_peek(bytes_of(frame), &peek);
}

static void the_first_fields_of_v1_are_enough(void **state)
{
    (void)state;
    assert_true(look("{\"did\":\"" DID "\",\"time_us\":1725911162329308,\"kind\":\"commit\"}"));
    assert_true(bytes_equal_string(peek.did, DID));
    assert_true(peek.time_us == INT64_C(1725911162329308));
    assert_true(peek.seq == 0);
    assert_true(look("{\"did\":\"did:web:example.com\",\"time_us\":1}"));
}

static void any_other_form_of_v1_is_left_to_the_parser(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",
        "{",
        "{\"did\":\"",
        "{\"did\":\"" DID,
        "{\"did\":\"" DID "\"",
        "{\"did\":\"" DID "\",\"time_us\":",
        "{\"did\":\"" DID "\",\"time_us\":12",
        "{\"did\":\"" DID "\",\"time_us\":012,",
        "{\"did\":\"" DID "\",\"time_us\":-5,",
        "{\"did\":\"" DID "\",\"time_us\":1.5,",
        "{\"did\":\"" DID "\",\"time_us\":99999999999999999999,",
        "{\"did\":\"" DID "\",\"kind\":\"commit\",\"time_us\":5}",
        "{ \"did\":\"" DID "\",\"time_us\":5}",
        "{\"did\" :\"" DID "\",\"time_us\":5}",
        "{\"did\":\"did:plc:\\u0061\",\"time_us\":5}",
        "{\"did\":\"nobody\",\"time_us\":5}",
        "{\"time_us\":5,\"did\":\"" DID "\"}",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(look(others[i]));
}

static void a_commit_of_v2_is_known_by_its_head_and_its_tail(void **state)
{
    (void)state;
    assert_true(look(V2("commit", "\"cid\":\"bafy\",\"collection\":\"a.b.c\",\"did\":\"" DID
                                  "\",\"record\":{\"did\":\"x\",\"seq\":5}" V2_END)));
    assert_true(bytes_equal_string(peek.did, DID));
    assert_true(peek.seq == 17);
    assert_true(peek.time_us == INT64_C(1786323723000004));
    assert_true(look(V2("commit", "\"collection\":\"a.b.c\",\"did\":\"" DID "\"" V2_END)));
}

static void any_other_form_of_v2_is_left_to_the_parser(void **state)
{
    (void)state;
    static const char *const others[] = {
        V2("identity", "\"did\":\"" DID "\",\"identity\":{}" V2_END),
        V2("commit", "\"did\":\"" DID "\"" V2_END),
        V2("commit", "\"collection\":\"a.b.c\",\"did\":\"" DID "\",\"seq\":17"),
        V2("commit", "\"collection\":\"a.b.c\",\"did\":\"" DID
                     "\",\"seq\":0,\"time\":\"2026-08-10T01:02:03.000004Z\""),
        V2("commit", "\"collection\":\"a.b.c\",\"did\":\"" DID
                     "\",\"seq\":17,\"time\":\"2026-13-10T01:02:03.000004Z\""),
        V2("commit", "\"collection\":\"a.b.c\",\"did\":\"" DID
                     "\",\"seq\":-7,\"time\":\"2026-08-10T01:02:03.000004Z\""),
        V2("commit", "\"collection\":\"a.b.c\",\"did\":\"" DID
                     "\",\"x\":\"\\\",\\\"seq\\\":17,\\\"time\\\":\\\"2026\""),
        "{\"$type\":\"error\",\"error\":\"ConsumerTooSlow\"}",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(look(others[i]));
}

/* Whatever it says is what the parser says, for every event of a world. */
static void it_never_says_anything_else_than_the_parser(void **state)
{
    (void)state;
    struct world_options options = world_options_default();
    struct world *world = world_new(&options);
    struct json_doc *doc = json_doc_new((size_t)1 << 20, JSON_DEPTH_MAX);
    struct text line = {0};
    unsigned known = 0;
    world_grow(world, 2000);
    for (uint32_t k = 0; k < 4000; k++) {
        struct json root;
        int64_t time_us = 0, seq = 0;
        bool v2 = k % 2 == 1;
        text_clear(&line);
        if (v2)
            event_json_v2(world, k / 2, k + 1, &line);
        else
            event_json_v1(world, k / 2, 0, &line);
        assert_int_equal(json_parse_copy(doc, text_bytes(&line), &root, NULL), RC_OK);
        if (!jetstream_peek(text_bytes(&line), &peek))
            continue;
        known++;
        struct json event = v2 ? json_get(root, "payload") : root;
        assert_true(bytes_equal(peek.did, json_string_or_absent(json_get(event, "did"))));
        if (v2) {
            assert_true(json_i64(json_get(event, "seq"), &seq));
            assert_true(timestamp_parse(json_string_or_absent(json_get(event, "time")), &time_us));
        } else {
            assert_true(json_i64(json_get(event, "time_us"), &time_us));
        }
        assert_true(peek.time_us == time_us && peek.seq == seq);
    }
    assert_true(known > 3880);
    text_free(&line);
    json_doc_free(doc);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_fields_of_v1_are_enough),
        cmocka_unit_test(any_other_form_of_v1_is_left_to_the_parser),
        cmocka_unit_test(a_commit_of_v2_is_known_by_its_head_and_its_tail),
        cmocka_unit_test(any_other_form_of_v2_is_left_to_the_parser),
        cmocka_unit_test(it_never_says_anything_else_than_the_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
