/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions from a loop to the store and their answers, on both stores. */
#include "store/lookup.h"
#include "store_bench.h"
#include "sys/loop.h"

#include <string.h>

#define ASKS_MAX 3

struct asking {
    struct loop *loop;
    struct lookup *lookup;
    unsigned answered, wanted;
    enum rc rc;
    size_t columns, rows;
    bool late;         /* an answer took longer than it may: the machine was busy */
    struct text words; /* fields, each ended by a bar */
};

static void take(void *arg, const struct lookup_answer *answer)
{
    struct asking *asking = arg;
    asking->rc = answer->rc;
    asking->late |= answer->rc == RC_AGAIN;
    asking->columns = answer->columns;
    asking->rows = answer->rows;
    for (size_t i = 0; answer->rc == RC_OK && i < answer->rows * answer->columns && i < 64; i++) {
        const struct field *field = &answer->fields[i];
        if (field->null)
            text_append_string(&asking->words, "null");
        else if (field->type == FIELD_INT)
            text_appendf(&asking->words, "%lld", (long long)field->i);
        else
            text_append(&asking->words, field->b.data, field->b.len);
        text_append_char(&asking->words, '|');
    }
    if (++asking->answered == asking->wanted)
        loop_stop(asking->loop);
}

static void begin(struct asking *asking, const char *url)
{
    *asking = (struct asking){.loop = loop_new()};
    asking->lookup = lookup_new(asking->loop, url, ASKS_MAX);
}

static void end(struct asking *asking)
{
    if (asking->lookup != NULL)
        lookup_free(asking->lookup);
    loop_free(asking->loop);
    text_free(&asking->words);
}

static void wait_for(struct asking *asking, unsigned answers)
{
    asking->wanted = answers;
    if (asking->answered < answers)
        loop_run(asking->loop);
    assert_int_equal(asking->answered, answers);
}

static enum rc ask(struct asking *asking, const char *sql)
{
    return lookup_ask(asking->lookup, sql, NULL, 0, take, asking);
}

/* Again while the machine is too busy for the time that a question has. */
static void ask_until_answered(struct asking *asking, const char *sql)
{
    do {
        assert_int_equal(ask(asking, sql), RC_OK);
        wait_for(asking, asking->answered + 1);
    } while (asking->rc == RC_AGAIN);
    assert_int_equal(asking->rc, RC_OK);
}

static void ask_three(struct asking *asking)
{
    struct field params[] = {field_text(bytes_of("did:plc:b")), field_int(100)};
    assert_int_equal(ask(asking, "SELECT rkey, text, shared_us FROM posts ORDER BY rkey"), RC_OK);
    assert_int_equal(lookup_ask(asking->lookup,
                                "SELECT rkey FROM posts WHERE actor_did = ?1 AND shared_us > ?2 "
                                "ORDER BY rkey",
                                params, 2, take, asking),
                     RC_OK);
    assert_int_equal(ask(asking, "SELECT rkey FROM posts WHERE rkey = 'none'"), RC_OK);
    assert_int_equal(ask(asking, "SELECT 1"), RC_AGAIN);
    wait_for(asking, 3);
}

static void rows_come_back_whole_and_in_order(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "");
    add_post(bench, "did:plc:b", "2", "r2", 0, 101, "two");
    add_post(bench, "did:plc:b", "3", "r3", 0, 102, NULL);
    assert_ok(write_batch(bench));
    begin(&asking, bench->fixture.url);
    for (ask_three(&asking); asking.late; ask_three(&asking)) {
        end(&asking);
        begin(&asking, bench->fixture.url);
    }
    assert_string_equal(text_string(&asking.words), "1||100|2|two|101|3|null|102|2|3|");
    assert_int_equal(asking.rows, 0);
    end(&asking);
}

static void what_was_committed_before_the_question_is_seen(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    begin(&asking, bench->fixture.url);
    for (unsigned i = 1; i <= 3; i++) {
        char rkey[4] = {(char)('0' + i)};
        add_post(bench, "did:plc:a", rkey, "r1", 0, 100, "x");
        assert_ok(write_batch(bench));
        text_clear(&asking.words);
        ask_until_answered(&asking, "SELECT max(rkey) FROM posts");
        assert_int_equal(asking.words.data[0], rkey[0]);
    }
    end(&asking);
}

static void a_question_that_fails_or_asks_for_too_much_is_answered_too(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    begin(&asking, bench->fixture.url);
    assert_ok(ask(&asking, "SELECT nothing FROM nowhere"));
    wait_for(&asking, 1);
    assert_int_not_equal(asking.rc, RC_OK);
    assert_ok(ask(&asking, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c "
                           "WHERE x < 100001) SELECT x FROM c"));
    wait_for(&asking, 2);
    assert_true(asking.rc == RC_REJECT || asking.rc == RC_AGAIN); /* too many, or too slow here */
    ask_until_answered(&asking, "SELECT 7");
    end(&asking);
}

static void questions_left_at_the_end_are_answered(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    begin(&asking, bench->fixture.url);
    for (unsigned i = 0; i < ASKS_MAX; i++)
        assert_ok(ask(&asking, "SELECT count(*) FROM posts"));
    lookup_free(asking.lookup);
    asking.lookup = NULL;
    assert_int_equal(asking.answered, ASKS_MAX);
    end(&asking);
}

static void a_store_that_cannot_be_opened_is_said(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    begin(&asking, "sqlite:/nowhere/at/all.db");
    assert_ok(ask(&asking, "SELECT 1"));
    wait_for(&asking, 1);
    assert_int_equal(asking.rc, RC_RETRY);
    end(&asking);
}

/* ---- a store that takes its time ---- */

#define NUMBERS(to)                                                                                \
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < " to                 \
    ") SELECT count(*) FROM c"
#define FOR_EVER "2000000000"

static void what_takes_too_long_is_said(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    begin(&asking, bench->fixture.url);
    assert_ok(ask(&asking, NUMBERS(FOR_EVER)));
    wait_for(&asking, 1);
    assert_int_equal(asking.rc, RC_AGAIN);
    end(&asking);
}

/* No try of it is any longer; the one that sees the row has little to do. */
static void a_steady_question_is_asked_until_it_is_answered(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    const struct lookup_question question = {
        .sql = NUMBERS("CASE WHEN EXISTS (SELECT 1 FROM posts) THEN 7 ELSE " FOR_EVER " END")};
    begin(&asking, bench->fixture.url);
    assert_ok(lookup_ask_steadily(asking.lookup, &question, take, &asking));
    assert_ok(ask(&asking, "SELECT 1"));
    wait_for(&asking, 1);
    assert_string_equal(text_string(&asking.words), "1|"); /* it does not wait for the other */
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
    assert_ok(write_batch(bench));
    wait_for(&asking, 2);
    assert_int_equal(asking.rc, RC_OK);
    assert_string_equal(text_string(&asking.words), "1|7|");
    end(&asking);
}

static void a_steady_question_ends_with_the_program(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    const struct lookup_question question = {.sql = NUMBERS(FOR_EVER)};
    begin(&asking, bench->fixture.url);
    assert_ok(lookup_ask_steadily(asking.lookup, &question, take, &asking));
    assert_ok(ask(&asking, "SELECT 1"));
    wait_for(&asking, 1);
    lookup_free(asking.lookup);
    asking.lookup = NULL;
    assert_int_equal(asking.answered, 2);
    assert_int_equal(asking.rc, RC_AGAIN);
    end(&asking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(rows_come_back_whole_and_in_order),
        ON_STORE(what_was_committed_before_the_question_is_seen),
        ON_STORE(a_question_that_fails_or_asks_for_too_much_is_answered_too),
        ON_STORE(questions_left_at_the_end_are_answered),
        ON_STORE(a_store_that_cannot_be_opened_is_said),
        ON_STORE(what_takes_too_long_is_said),
        ON_STORE(a_steady_question_is_asked_until_it_is_answered),
        ON_STORE(a_steady_question_ends_with_the_program),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
