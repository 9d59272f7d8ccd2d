/* SPDX-License-Identifier: Apache-2.0
 *
 * Which provider a stream is given, and what is said of those it is not. */
#include "failover_bench.h"

#include <stdio.h>
#include <string.h>

/* R003-35 */
static void a_provider_that_takes_no_kind_of_the_cursor_is_skipped_and_says_so(void **state)
{
    (void)state;
    int a = add("timely", TIME, TIME, 0);
    struct failover_offer offer = offer_of(HASH, 0, PROVIDER_NONE);
    struct failover_pick pick;
    struct err err;
    assert_int_equal(failover_choose(&stream, &offer, 0, &pick, &err), RC_REJECT);
    assert_int_equal(pick.provider, PROVIDER_NONE);
    assert_true(pick.at_us == INT64_MAX);
    assert_string_equal(err.text, "ethereum/normal: no provider can go on from this cursor: "
                                  "timely: takes none of the kinds the cursor offers");
    int b = add("hashed", HASH | TIME, TIME, 9);
    assert_int_equal(choose(&stream, offer, 0).provider, b);
    char words[80];
    failover_reason(&stream, &offer, a, 0, words, sizeof words);
    assert_string_equal(words, "takes none of the kinds the cursor offers");
    failover_reason(&stream, &offer, b, 0, words, sizeof words);
    assert_string_equal(words, "ready");
}

/* R003-36: the choice; a connector's file is checked elsewhere. */
static void the_preferred_kind_is_named_when_several_fit(void **state)
{
    (void)state;
    add("a", BLOCK | TIME | HASH, TIME, 0);
    struct failover_pick pick = choose(&stream, offer_of(BLOCK | TIME, 0, 0), 0);
    assert_int_equal(pick.usable, BLOCK | TIME);
    assert_int_equal(pick.preferred, TIME);
    pick = choose(&stream, offer_of(BLOCK | HASH, 0, 0), 0);
    assert_int_equal(pick.usable, BLOCK | HASH);
    assert_int_equal(pick.preferred, 0);
}

/* R003-38: also the row of DESIGN about foreign page tokens. */
static void a_foreign_token_does_not_disqualify_who_takes_an_alternative(void **state)
{
    (void)state;
    int a = add("infura", BLOCK | TOKEN, TOKEN, 0);
    int b = add("alchemy", BLOCK | TOKEN, TOKEN, 1);
    struct failover_offer offer = offer_of(BLOCK, TOKEN, a);
    struct failover_pick pick = choose(&stream, offer, 0);
    assert_int_equal(pick.provider, a);
    assert_int_equal(pick.usable, BLOCK | TOKEN);
    assert_false(pick.crossed);
    let_fail(&stream, &pick, 0);
    pick = choose(&stream, offer, 0);
    assert_int_equal(pick.provider, b);
    assert_int_equal(pick.usable, BLOCK);
    assert_int_equal(pick.preferred, 0);
    assert_true(pick.crossed);
}

static void a_lone_foreign_token_names_its_owner(void **state)
{
    (void)state;
    int a = add("infura", TOKEN, TOKEN, 0);
    int b = add("alchemy", TOKEN, TOKEN, 1);
    struct failover_offer offer = offer_of(0, TOKEN, a);
    struct failover_pick pick = choose(&stream, offer, 0);
    let_fail(&stream, &pick, 0);
    struct err err;
    assert_int_equal(failover_choose(&stream, &offer, 0, &pick, &err), RC_RETRY);
    assert_non_null(strstr(err.text, "infura: failed, again in 1 s: HTTP 503"));
    assert_non_null(strstr(err.text, "alchemy: takes only the token, which belongs to infura"));
    offer = offer_of(0, TOKEN, PROVIDER_NONE);
    char words[80];
    failover_reason(&stream, &offer, b, 0, words, sizeof words);
    assert_string_equal(words, "takes only the token, which belongs to a provider that is gone");
}

static void an_error_leads_to_the_next_provider_however_late_the_question_comes(void **state)
{
    (void)state;
    const int order[] = {0, 1, 2, 0, 1, 2, 0};
    for (int i = 0; i < 3; i++)
        add(&"a\0b\0c"[i * 2], BLOCK, BLOCK, i);
    for (int64_t i = 0; i < 7; i++) {
        struct failover_pick pick = choose(&stream, offer_of(BLOCK, 0, 0), i * 1440 * MINUTE);
        assert_int_equal(pick.provider, order[i]);
        let_fail(&stream, &pick, i * 1440 * MINUTE);
    }
}

/* R003-39 */
static void every_provider_declaring_the_kind_is_eligible(void **state)
{
    (void)state;
    add("a", BLOCK, BLOCK, 0);
    add("b", TIME, TIME, 0);
    add("c", BLOCK | TIME, BLOCK, 0);
    const uint32_t kinds[] = {BLOCK, TIME};
    const int eligible[][2] = {{0, 2}, {1, 2}};
    for (int k = 0; k < 2; k++) {
        failover_stream_init(&stream, &group, "s");
        struct failover_offer offer = offer_of(kinds[k], 0, PROVIDER_NONE);
        struct failover_pick pick;
        for (int i = 0; i < 2; i++) {
            pick = choose(&stream, offer, 0);
            assert_int_equal(pick.provider, eligible[k][i]);
            let_fail(&stream, &pick, 0);
        }
        assert_int_equal(failover_choose(&stream, &offer, 0, &pick, NULL), RC_RETRY);
    }
}

/* R003-41: the choice and the count. Page 3 fails, so the cursor offered is still page 2's; its
 * value is the caller's. */
static void after_an_error_the_next_provider_goes_on_from_the_last_good_cursor(void **state)
{
    (void)state;
    int a = add("a", BLOCK | TOKEN, TOKEN, 0), b = add("b", BLOCK, BLOCK, 1);
    struct failover_offer stored = offer_of(0, 0, PROVIDER_NONE);
    struct failover_pick pick;
    for (int page = 1; page <= 2; page++) {
        pick = choose(&stream, stored, page * SECOND);
        assert_int_equal(pick.provider, a);
        assert_false(pick.crossed);
        failover_succeeded(&stream, &pick, 1000, page * SECOND);
        stored = offer_of(BLOCK, TOKEN, a);
    }
    pick = choose(&stream, stored, 3 * SECOND);
    let_fail(&stream, &pick, 3 * SECOND);
    pick = choose(&stream, stored, 3 * SECOND);
    assert_int_equal(pick.provider, b);
    assert_true(pick.crossed);
    assert_int_equal(pick.usable, BLOCK);
    assert_int_equal(group.providers[a].failures, 1);
    assert_int_equal(group.providers[a].successes, 2);
    assert_int_equal(group.providers[b].failures, 0);
    const struct failover_switch *last = failover_history(&group, 0);
    assert_int_equal(last->from, a);
    assert_int_equal(last->to, b);
    assert_int_equal(last->at_us, 3 * SECOND);
    assert_string_equal(last->stream, "ethereum/normal");
    assert_string_equal(last->reason, "failed, again in 1 s: HTTP 503");
    assert_null(failover_history(&group, 1));
}

/* Several streams of one account ask at once: one short trouble of the provider is one failure. */
static void one_blip_that_meets_all_streams_does_not_open_the_circuit(void **state)
{
    (void)state;
    enum { STREAMS = 4 };
    struct failover_stream streams[STREAMS];
    struct failover_pick picks[STREAMS];
    struct failover_offer offer = offer_of(BLOCK, 0, PROVIDER_NONE);
    int a = add("a", BLOCK, BLOCK, 0);
    for (int i = 0; i < STREAMS; i++) {
        failover_stream_init(&streams[i], &group, "stream");
        picks[i] = choose(&streams[i], offer, 0);
    }
    for (int i = 0; i < STREAMS; i++)
        let_fail(&streams[i], &picks[i], i);
    assert_int_equal(provider_circuit(&group.providers[a], SECOND), CIRCUIT_CLOSED);
    for (int i = 0; i < STREAMS; i++)
        picks[i] = choose(&streams[i], offer, 2 * SECOND);
    failover_succeeded(&streams[0], &picks[0], 1, 2 * SECOND);
    let_fail(&streams[1], &picks[1], 2 * SECOND);
    assert_int_equal(group.providers[a].failures_in_row, 1);
}

/* R003-42: what a mapper could not understand is a failure like any other. */
static void an_answer_nobody_understands_sends_the_stream_to_the_next_provider(void **state)
{
    (void)state;
    add("a", BLOCK, BLOCK, 0);
    int b = add("b", BLOCK, BLOCK, 1);
    struct retry_failure garbled = {.cause = RETRY_GARBLED, .status = 200};
    struct provider_failure failure = {retry_classify(&garbled, NULL, 0), -1, "no JSON at byte 0"};
    struct failover_pick pick = choose(&stream, offer_of(BLOCK, 0, 0), 0);
    failover_failed(&stream, &pick, &failure, 0, RETRY_CENTRE);
    assert_int_equal(choose(&stream, offer_of(BLOCK, 0, 0), 0).provider, b);
    assert_string_equal(group.providers[0].last_error, "no JSON at byte 0");
}

/* R003-43 */
static void when_all_failed_one_sentence_names_each_reason_and_the_time(void **state)
{
    (void)state;
    const char *const names[] = {"etherscan", "routescan", "moralis"};
    const struct provider_failure failures[] = {{RETRY_TRANSIENT, -1, "HTTP 503"},
                                                {RETRY_TRANSIENT, 20 * SECOND, "timed out"},
                                                {RETRY_AUTH, -1, "key refused"}};
    struct failover_offer offer = offer_of(BLOCK, 0, PROVIDER_NONE);
    struct failover_pick pick;
    for (int i = 0; i < 3; i++)
        add(names[i], BLOCK, BLOCK, i);
    for (int i = 0; i < 3; i++) {
        pick = choose(&stream, offer, 0);
        assert_int_equal(pick.provider, i);
        failover_failed(&stream, &pick, &failures[i], 0, RETRY_CENTRE);
    }
    struct err err;
    assert_int_equal(failover_choose(&stream, &offer, 0, &pick, &err), RC_RETRY);
    assert_string_equal(err.text, "ethereum/normal: all providers failed, next try in 1 s: "
                                  "etherscan: failed, again in 1 s: HTTP 503; "
                                  "routescan: failed, again in 20 s: timed out; "
                                  "moralis: circuit open for 30 s after: key refused");
    assert_int_equal(pick.at_us, SECOND);
    assert_int_equal(choose(&stream, offer, SECOND).provider, 0);
}

static void a_full_group_of_talkative_providers_is_still_named_one_by_one(void **state)
{
    (void)state;
    struct failover_offer offer = offer_of(BLOCK, 0, PROVIDER_NONE);
    struct provider_failure failure = {RETRY_TRANSIENT, -1,
                                       "a very long story about a server that did not answer, "
                                       "told by somebody who had all the time in the world"};
    struct failover_pick pick;
    char name[PROVIDER_NAME_MAX];
    for (int i = 0; i < FAILOVER_PROVIDERS_MAX; i++) {
        snprintf(name, sizeof name, "host-%02d.example", i);
        add(name, BLOCK, BLOCK, 0);
        pick = choose(&stream, offer, 0);
        failover_failed(&stream, &pick, &failure, 0, RETRY_CENTRE);
    }
    struct err err;
    assert_int_equal(failover_choose(&stream, &offer, 0, &pick, &err), RC_RETRY);
    for (int i = 0; i < FAILOVER_PROVIDERS_MAX; i++) {
        snprintf(name, sizeof name, "host-%02d.example: ", i);
        assert_non_null(strstr(err.text, name));
    }
    int number;
    struct provider_spec spec = {.name = "one more"};
    assert_int_equal(failover_add(&group, &spec, 0, &number, &err), RC_REJECT);
    assert_non_null(strstr(err.text, "one more"));
    assert_int_equal(failover_find(&group, "host-07.example"), 7);
    assert_int_equal(failover_find(&group, "one more"), PROVIDER_NONE);
}

static void a_resumed_stream_begins_where_its_cursor_was_written(void **state)
{
    (void)state;
    add("a", BLOCK | TOKEN, BLOCK, 0);
    int b = add("b", BLOCK | TOKEN, BLOCK, 1);
    struct failover_offer offer = offer_of(BLOCK, TOKEN, b);
    struct failover_pick pick = choose(&stream, offer, 0);
    assert_int_equal(pick.provider, b);
    assert_false(pick.crossed);
    assert_int_equal(pick.proof.at_us, -1);
    struct provider_proof proof = {990, -1, 77};
    failover_proved(&stream, b, &proof);
    let_fail(&stream, &pick, 0);
    pick = choose(&stream, offer, 0);
    assert_int_equal(pick.provider, 0);
    assert_true(pick.crossed);
    assert_int_equal(pick.proof.block, 990);
    assert_int_equal(group.providers[b].proof.at_us, 77);
    failover_stream_init(&stream, &group, "new");
    assert_int_equal(choose(&stream, offer_of(0, 0, PROVIDER_NONE), 0).provider, 0);
}

static void a_provider_that_contradicts_itself_is_refused_in_words(void **state)
{
    (void)state;
    char long_name[PROVIDER_NAME_MAX + 1] = {0};
    memset(long_name, 'x', PROVIDER_NAME_MAX);
    const struct {
        struct provider_spec spec;
        const char *words;
    } rows[] = {
        {{.name = "a", .kinds = BLOCK, .kind_preferred = BLOCK}, "provider a: named twice"},
        {{.name = ""}, "provider : a name has 1 to 64 bytes"},
        {{.name = long_name}, "1 to 64 bytes"},
        {{.name = "b", .kinds = BLOCK}, "the preferred kind must be one of"},
        {{.name = "b", .kinds = BLOCK, .kind_preferred = TIME},
         "the preferred kind must be one of"},
        {{.name = "b", .kinds = 3, .kind_preferred = 3}, "the preferred kind must be one of"},
    };
    add("a", BLOCK, BLOCK, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err;
        int number;
        assert_int_equal(failover_add(&group, &rows[i].spec, 0, &number, &err), RC_REJECT);
        assert_non_null(strstr(err.text, rows[i].words));
    }
    assert_int_equal(group.count, 1);
}

static void the_history_keeps_the_last_switches_and_no_more(void **state)
{
    (void)state;
    add("a", BLOCK, BLOCK, 0);
    add("b", BLOCK, BLOCK, 0);
    struct failover_offer offer = offer_of(BLOCK, 0, PROVIDER_NONE);
    for (int64_t i = 0; i < 1000; i++) {
        struct failover_pick pick = choose(&stream, offer, i * 1440 * MINUTE);
        let_fail(&stream, &pick, i * 1440 * MINUTE);
    }
    assert_int_equal(group.switches, 999);
    for (uint32_t back = 0; back < FAILOVER_HISTORY_MAX; back++) {
        const struct failover_switch *entry = failover_history(&group, back);
        assert_int_equal(entry->at_us, (999 - (int64_t)back) * 1440 * MINUTE);
        assert_int_not_equal(entry->from, entry->to);
    }
    assert_null(failover_history(&group, FAILOVER_HISTORY_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GROUP(a_provider_that_takes_no_kind_of_the_cursor_is_skipped_and_says_so),
        ON_GROUP(the_preferred_kind_is_named_when_several_fit),
        ON_GROUP(a_foreign_token_does_not_disqualify_who_takes_an_alternative),
        ON_GROUP(a_lone_foreign_token_names_its_owner),
        ON_GROUP(every_provider_declaring_the_kind_is_eligible),
        ON_GROUP(an_error_leads_to_the_next_provider_however_late_the_question_comes),
        ON_GROUP(after_an_error_the_next_provider_goes_on_from_the_last_good_cursor),
        ON_GROUP(one_blip_that_meets_all_streams_does_not_open_the_circuit),
        ON_GROUP(an_answer_nobody_understands_sends_the_stream_to_the_next_provider),
        ON_GROUP(when_all_failed_one_sentence_names_each_reason_and_the_time),
        ON_GROUP(a_full_group_of_talkative_providers_is_still_named_one_by_one),
        ON_GROUP(a_resumed_stream_begins_where_its_cursor_was_written),
        ON_GROUP(a_provider_that_contradicts_itself_is_refused_in_words),
        ON_GROUP(the_history_keeps_the_last_switches_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
