/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/cursor.h"

#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BIT(kind)  (1U << CURSOR_##kind)
#define EVERYTHING (~0U)

static struct cursor number(enum cursor_kind kind, int64_t value)
{
    return cursor_make_number(kind, value, NULL);
}

static struct cursor text(enum cursor_kind kind, const char *value)
{
    return cursor_make_text(kind, bytes_of(value), NULL);
}

static struct cursor token(const char *value, const char *provider)
{
    return cursor_make_text(CURSOR_PAGE_TOKEN, bytes_of(value), provider);
}

static struct cursor_state state_of(const char *provider, struct cursor primary)
{
    struct cursor_state state = {.primary = primary, .updated_ms = 1000};
    snprintf(state.provider_name, sizeof state.provider_name, "%s", provider);
    return state;
}

static void add(struct cursor_state *state, struct cursor alternative)
{
    state->alternatives[state->alternative_count++] = alternative;
}

static struct cursor_ask ask_of(const char *provider, unsigned supported)
{
    return (struct cursor_ask){.provider_name = provider,
                               .supported = supported,
                               .now_ms = 2000,
                               .proved_block = -1,
                               .proved_us = -1};
}

static struct cursor_choice resolve(const struct cursor_state *state, const struct cursor_ask *ask)
{
    struct cursor_choice choice;
    struct err err;
    if (cursor_resolve(state, ask, &choice, &err) != RC_OK)
        fail_msg("%s", err.text);
    return choice;
}

static void expect(const struct cursor_state *state, const struct cursor_ask *ask,
                   struct cursor expected)
{
    struct cursor_choice choice = resolve(state, ask);
    assert_string_equal(cursor_kind_name(choice.cursor.kind), cursor_kind_name(expected.kind));
    assert_true(cursor_equal(&choice.cursor, &expected));
}

/* R003-45: Alchemy meets Infura's token and goes on from the block number. */
static void alchemy_skips_the_token_of_infura(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("infura", token("cursor-3", "infura"));
    add(&state, text(CURSOR_TX_HASH, "0xfeed"));
    add(&state, number(CURSOR_TIMESTAMP, 1700000000000000));
    add(&state, number(CURSOR_BLOCK_NUMBER, 19000000));
    struct cursor_ask ask = ask_of("alchemy", EVERYTHING);
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 19000000));
    ask.provider_name = "infura";
    expect(&state, &ask, token("cursor-3", "infura"));
}

/* R003-38, first row of the table, corrected: a foreign token disqualifies nobody who supports an
 * alternative. R003-35: who supports none of them is skipped and says so. */
static void a_foreign_token_leaves_the_alternatives(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("a", token("t", "a"));
    struct cursor_choice choice;
    struct err err;
    struct cursor_ask ask = ask_of("b", BIT(PAGE_TOKEN));
    assert_int_equal(cursor_resolve(&state, &ask, &choice, &err), RC_REJECT);
    assert_non_null(strstr(err.text, "b understands none"));
    add(&state, number(CURSOR_BLOCK_NUMBER, 12));
    assert_int_equal(cursor_resolve(&state, &ask, &choice, &err), RC_REJECT);
    ask.supported |= BIT(BLOCK_NUMBER);
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 12));
}

/* R003-39, second row: block and timestamp positions serve every provider that declares them. */
static void portable_positions_serve_whoever_declares_them(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("a", number(CURSOR_BLOCK_NUMBER, 12));
    struct cursor_choice choice;
    struct cursor_ask ask = ask_of("b", BIT(BLOCK_NUMBER));
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 12));
    ask.supported = BIT(TIMESTAMP);
    assert_int_equal(cursor_resolve(&state, &ask, &choice, NULL), RC_REJECT);
    add(&state, number(CURSOR_TIMESTAMP, 5000));
    expect(&state, &ask, number(CURSOR_TIMESTAMP, 5000));
}

/* R003-40, third row: cursor 1000, window 2: 998 across providers, 1000 within, never 996.
 * R003-08: metadata.providerName alone makes the difference. */
static void the_rewind_happens_once_and_across_providers_only(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("a", number(CURSOR_BLOCK_NUMBER, 1000));
    struct cursor_ask ask = ask_of("b", EVERYTHING);
    ask.replay_blocks = 2;
    ask.replay_us = 77;
    struct cursor_choice choice = resolve(&state, &ask);
    assert_int_equal(choice.cursor.number, 998);
    assert_int_equal(choice.rewound_by, 2);
    assert_true(choice.cursor.inclusive);
    assert_false(choice.same_provider);
    snprintf(state.provider_name, sizeof state.provider_name, "%s", "b");
    choice = resolve(&state, &ask);
    assert_int_equal(choice.cursor.number, 1000);
    assert_int_equal(choice.rewound_by, 0);
    assert_true(choice.same_provider);
    state.provider_name[0] = '\0'; /* made by nobody known: overlap rather than a hole */
    assert_int_equal(resolve(&state, &ask).cursor.number, 998);
    state.primary.number = 1;
    choice = resolve(&state, &ask);
    assert_int_equal(choice.cursor.number, 0);
    assert_int_equal(choice.rewound_by, 1);
    state.primary = number(CURSOR_TIME_US, 1000);
    assert_int_equal(resolve(&state, &ask).cursor.number, 923);
    state.primary = number(CURSOR_TIMESTAMP, 1000);
    assert_int_equal(resolve(&state, &ask).cursor.number, 923);
}

static void the_rewind_reaches_back_to_what_was_proved_good(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("a", number(CURSOR_BLOCK_NUMBER, 1000));
    struct cursor_ask ask = ask_of("b", EVERYTHING);
    ask.replay_blocks = 10;
    ask.proved_block = 700;
    assert_int_equal(resolve(&state, &ask).cursor.number, 700);
    ask.proved_block = 995;
    assert_int_equal(resolve(&state, &ask).cursor.number, 990);
    ask.proved_block = 2000;
    assert_int_equal(resolve(&state, &ask).cursor.number, 990);
    ask.proved_block = 0;
    assert_int_equal(resolve(&state, &ask).rewound_by, 1000);
    ask.provider_name = "a";
    assert_int_equal(resolve(&state, &ask).cursor.number, 1000);
}

/* R003-46: other kinds arrive unchanged, also across providers. */
static void other_kinds_pass_through_unchanged(void **unused)
{
    (void)unused;
    const struct cursor kinds[] = {
        text(CURSOR_SIGNATURE, "5VERv8"),
        text(CURSOR_TX_HASH, "0xab"),
        number(CURSOR_SLOT, 250000000),
    };
    struct cursor_ask ask = ask_of("b", EVERYTHING);
    ask.replay_blocks = ask.replay_us = 1000;
    ask.proved_block = ask.proved_us = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct cursor_state state = state_of("a", kinds[i]);
        expect(&state, &ask, kinds[i]);
        assert_int_equal(resolve(&state, &ask).rewound_by, 0);
    }
}

/* R003-04, R003-44: one table, from the first choice to the last. */
static void the_order_of_choice_is_as_documented(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("a", token("t", "a"));
    add(&state, text(CURSOR_TX_HASH, "0xab"));
    add(&state, number(CURSOR_TIMESTAMP, 5000));
    add(&state, number(CURSOR_BLOCK_NUMBER, 12));
    struct cursor_ask ask = ask_of("a", EVERYTHING);
    expect(&state, &ask, token("t", "a"));
    ask.supported &= ~BIT(PAGE_TOKEN);
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 12));
    ask.supported &= ~BIT(BLOCK_NUMBER);
    expect(&state, &ask, number(CURSOR_TIMESTAMP, 5000));
    ask.supported &= ~BIT(TIMESTAMP);
    expect(&state, &ask, text(CURSOR_TX_HASH, "0xab"));
    ask = ask_of("b", EVERYTHING);
    state.primary = number(CURSOR_SLOT, 3); /* primary before alternatives, within its class */
    expect(&state, &ask, number(CURSOR_SLOT, 3));
    state.primary = number(CURSOR_TIME_US, 3); /* blocks come before times */
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 12));
    ask.supported &= ~BIT(BLOCK_NUMBER);
    expect(&state, &ask, number(CURSOR_TIME_US, 3));
    ask = ask_of("a", EVERYTHING); /* its own primary is the same provider's first hint */
    expect(&state, &ask, number(CURSOR_TIME_US, 3));
    state = state_of("relay", cursor_make_number(CURSOR_SEQ, 99, "relay"));
    add(&state, number(CURSOR_TIME_US, 5));
    ask = ask_of("relay", EVERYTHING);
    expect(&state, &ask, cursor_make_number(CURSOR_SEQ, 99, "relay"));
    ask = ask_of("other", EVERYTHING);
    expect(&state, &ask, number(CURSOR_TIME_US, 5));
}

/* R003-36: of several that fit, the kind the provider prefers. */
static void the_preferred_kind_wins_among_portable_ones(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("a", token("t", "a"));
    add(&state, number(CURSOR_BLOCK_NUMBER, 12));
    add(&state, number(CURSOR_TIMESTAMP, 5000));
    struct cursor_ask ask = ask_of("b", EVERYTHING);
    ask.preferred = CURSOR_TIMESTAMP;
    expect(&state, &ask, number(CURSOR_TIMESTAMP, 5000));
    ask.preferred = CURSOR_SIGNATURE; /* not there */
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 12));
    ask.preferred = CURSOR_PAGE_TOKEN; /* not its own */
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 12));
    ask.provider_name = "a";
    ask.preferred = CURSOR_TIMESTAMP;
    expect(&state, &ask, token("t", "a"));
}

static void an_expired_token_is_not_used(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("a", token("t", "a"));
    add(&state, number(CURSOR_BLOCK_NUMBER, 12));
    struct cursor_ask ask = ask_of("a", EVERYTHING);
    ask.replay_blocks = 5;
    ask.token_ms_max = 1000;
    expect(&state, &ask, token("t", "a"));
    ask.now_ms++;
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 12)); /* the same provider: no rewind */
    ask.token_ms_max = 0;
    expect(&state, &ask, token("t", "a"));
}

/* R003-48: two block numbers: the newer one; primary before both. R003-16: 0 is a stand-in. */
static void an_older_position_is_not_chosen_over_a_newer_one(void **unused)
{
    (void)unused;
    struct cursor_state state = state_of("a", token("t", "a"));
    add(&state, number(CURSOR_BLOCK_NUMBER, 90));
    add(&state, number(CURSOR_BLOCK_NUMBER, 120));
    add(&state, number(CURSOR_BLOCK_NUMBER, 100));
    struct cursor_ask ask = ask_of("b", EVERYTHING);
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 120));
    state.primary = number(CURSOR_BLOCK_NUMBER, 110);
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 110));
    state = state_of("a", number(CURSOR_BLOCK_NUMBER, 0));
    expect(&state, &ask, number(CURSOR_BLOCK_NUMBER, 0));
    add(&state, number(CURSOR_TIMESTAMP, 5000));
    expect(&state, &ask, number(CURSOR_TIMESTAMP, 5000));
    ask.provider_name = "a";
    expect(&state, &ask, number(CURSOR_TIMESTAMP, 5000));
}

static void nothing_known_is_the_beginning(void **unused)
{
    (void)unused;
    struct cursor_state state = {0};
    struct cursor_ask ask = ask_of("b", BIT(SIGNATURE));
    assert_int_equal(resolve(&state, &ask).cursor.kind, CURSOR_NONE);
    state = state_of("a", number(CURSOR_BLOCK_NUMBER, 0)); /* a synthetic completion */
    assert_int_equal(resolve(&state, &ask).cursor.kind, CURSOR_NONE);
}

/* A plain model: every position gets a rank, the lowest is chosen. */
static const char *const names[] = {"a", "b", "c"};

static int rank(const struct cursor_state *state, const struct cursor_ask *ask, unsigned index)
{
    static const int class_of[CURSOR_KINDS] = {
        [CURSOR_BLOCK_NUMBER] = 3, [CURSOR_SLOT] = 3,    [CURSOR_TIMESTAMP] = 4,
        [CURSOR_TIME_US] = 4,      [CURSOR_TX_HASH] = 5, [CURSOR_SIGNATURE] = 5};
    const struct cursor *c = index == 0 ? &state->primary : &state->alternatives[index - 1];
    bool same = strcmp(state->provider_name, ask->provider_name) == 0;
    bool old = ask->token_ms_max > 0 && ask->now_ms - state->updated_ms > ask->token_ms_max;
    if (c->kind == CURSOR_NONE || (ask->supported >> c->kind & 1) == 0)
        return -1;
    if (c->kind == CURSOR_PAGE_TOKEN || c->kind == CURSOR_SEQ)
        return same && !old && strcmp(c->provider, ask->provider_name) == 0 ? 0 : -1;
    if (c->kind == CURSOR_BLOCK_NUMBER && c->number == 0)
        return 9;
    if (same && index == 0)
        return 1;
    return c->kind == ask->preferred ? 2 : class_of[c->kind];
}

static int plain_choose(const struct cursor_state *state, const struct cursor_ask *ask)
{
    int best = -1, best_rank = 100;
    for (unsigned i = 0; i <= state->alternative_count; i++) {
        int r = rank(state, ask, i);
        if (r < 0)
            continue;
        bool higher = best > 0 && r == best_rank && r != 9 &&
                      state->alternatives[best - 1].kind == state->alternatives[i - 1].kind &&
                      state->alternatives[i - 1].number > state->alternatives[best - 1].number;
        if (r < best_rank || higher) {
            best = (int)i;
            best_rank = r;
        }
    }
    return best;
}

static int64_t plain_position(const struct cursor *c, const struct cursor_ask *ask, bool same)
{
    bool is_time = c->kind == CURSOR_TIMESTAMP || c->kind == CURSOR_TIME_US;
    if (same || (!is_time && c->kind != CURSOR_BLOCK_NUMBER))
        return c->number;
    int64_t target = c->number - (is_time ? ask->replay_us : ask->replay_blocks);
    int64_t proved = is_time ? ask->proved_us : ask->proved_block;
    if (proved >= 0 && proved < target)
        target = proved;
    return target < 0 ? 0 : target;
}

static struct cursor random_cursor(struct seeded *random)
{
    enum cursor_kind kind = (enum cursor_kind)(1 + seeded_below(random, CURSOR_KINDS - 1));
    const char *provider = cursor_kind_is_scoped(kind) ? names[seeded_below(random, 3)] : NULL;
    if (cursor_kind_is_number(kind))
        return cursor_make_number(kind, (int64_t)seeded_below(random, 40), provider);
    char value = (char)('a' + seeded_below(random, 3));
    return cursor_make_text(kind, bytes_make(&value, 1), provider);
}

static void random_case(struct seeded *random, struct cursor_state *state, struct cursor_ask *ask)
{
    state->primary = random_cursor(random);
    snprintf(state->provider_name, sizeof state->provider_name, "%s",
             names[seeded_below(random, 3)]);
    state->alternative_count = (unsigned)seeded_below(random, 5);
    for (unsigned i = 0; i < state->alternative_count; i++)
        state->alternatives[i] = random_cursor(random);
    *ask = (struct cursor_ask){
        .provider_name = names[seeded_below(random, 3)],
        .supported = (unsigned)seeded_below(random, 1U << CURSOR_KINDS),
        .preferred = (enum cursor_kind)seeded_below(random, CURSOR_KINDS),
        .now_ms = state->updated_ms + (int64_t)seeded_below(random, 4),
        .token_ms_max = (int64_t)seeded_below(random, 3),
        .replay_blocks = (int64_t)seeded_below(random, 30),
        .replay_us = (int64_t)seeded_below(random, 30),
        .proved_block = (int64_t)seeded_below(random, 50) - 10,
        .proved_us = (int64_t)seeded_below(random, 50) - 10,
    };
}

static void it_agrees_with_a_plain_model_over_random_cases(void **unused)
{
    (void)unused;
    enum { CASES = 1000000 };
    struct seeded random = seeded_start("cursor_resolve");
    static struct cursor_state state;
    struct cursor_ask ask;
    struct cursor_choice choice;
    int refused = 0, rewound = 0;
    for (int i = 0; i < CASES; i++) {
        random_case(&random, &state, &ask);
        enum rc rc = cursor_resolve(&state, &ask, &choice, NULL);
        int best = plain_choose(&state, &ask);
        if (best < 0) {
            bool beginning = state.primary.kind == CURSOR_BLOCK_NUMBER &&
                             state.primary.number == 0 && state.alternative_count == 0;
            assert_int_equal(rc, beginning ? RC_OK : RC_REJECT);
            assert_int_equal(choice.cursor.kind, CURSOR_NONE);
            refused++;
            continue;
        }
        struct cursor expected = best == 0 ? state.primary : state.alternatives[best - 1];
        bool same = strcmp(state.provider_name, ask.provider_name) == 0;
        int64_t before = expected.number;
        expected.number = plain_position(&expected, &ask, same);
        expected.inclusive = expected.number != before;
        assert_int_equal(rc, RC_OK);
        assert_true(choice.same_provider == same);
        assert_true(choice.rewound_by == before - expected.number && choice.cursor.number >= 0);
        assert_true(cursor_equal(&choice.cursor, &expected));
        rewound += choice.rewound_by > 0;
    }
    assert_true(refused > CASES / 20 && rewound > CASES / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alchemy_skips_the_token_of_infura),
        cmocka_unit_test(a_foreign_token_leaves_the_alternatives),
        cmocka_unit_test(portable_positions_serve_whoever_declares_them),
        cmocka_unit_test(the_rewind_happens_once_and_across_providers_only),
        cmocka_unit_test(the_rewind_reaches_back_to_what_was_proved_good),
        cmocka_unit_test(other_kinds_pass_through_unchanged),
        cmocka_unit_test(the_order_of_choice_is_as_documented),
        cmocka_unit_test(the_preferred_kind_wins_among_portable_ones),
        cmocka_unit_test(an_expired_token_is_not_used),
        cmocka_unit_test(an_older_position_is_not_chosen_over_a_newer_one),
        cmocka_unit_test(nothing_known_is_the_beginning),
        cmocka_unit_test(it_agrees_with_a_plain_model_over_random_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
