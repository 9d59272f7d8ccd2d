/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions that are asked in pieces, on both stores: whatever the pieces are, they tell what one
 * question tells. */
#include "source/ledger_known.h"
#include "store/lookup.h"
#include "store_bench.h"
#include "sys/loop.h"

#include <string.h>

#define ACCOUNT "ethereum:0xabc"
#define HEADS   9

/* Both sides of the places where everything, a half and a quarter are cut. */
static const uint64_t heads[HEADS] = {
    0,
    0x3fffffffffffffff,
    0x4000000000000000,
    0x4000000000000001,
    0x7fffffffffffffff,
    0x8000000000000000,
    0x8000000000000001,
    0xc000000000000000,
    UINT64_MAX,
};

struct asking {
    struct bench *bench;
    struct loop *loop;
    struct lookup *lookup;
    struct text sql, words;
    enum rc rc;
    size_t rows;
    int64_t sum;
};

static void take(void *arg, const struct lookup_answer *answer)
{
    struct asking *asking = arg;
    asking->rc = answer->rc;
    asking->rows = answer->rows;
    asking->sum = 0;
    text_clear(&asking->words);
    for (size_t i = 0; answer->rc == RC_OK && i < answer->rows; i++) {
        const struct field *field = &answer->fields[i * answer->columns];
        if (field->type == FIELD_INT)
            asking->sum += field->i;
        else
            text_append(&asking->words, field->b.data, field->b.len);
    }
    loop_stop(asking->loop);
}

static void begin(struct asking *asking, struct bench *bench)
{
    struct record *row = batch_add(&bench->batch, RECORD_LEDGER_ACCOUNT);
    assert_true(batch_set_text(&bench->batch, row, LEDGER_ACCOUNT_NAME, bytes_of(ACCOUNT)) &&
                batch_set_text(&bench->batch, row, LEDGER_ACCOUNT_TYPE, bytes_of("blockchain")) &&
                batch_set_text(&bench->batch, row, LEDGER_ACCOUNT_PLATFORM, bytes_of("ethereum")) &&
                batch_set_text(&bench->batch, row, LEDGER_ACCOUNT_IDENTIFIER, bytes_of("0xabc")));
    batch_set_int(row, LEDGER_ACCOUNT_AT_US, 7);
    *asking = (struct asking){.bench = bench, .loop = loop_new()};
    asking->lookup = lookup_new(asking->loop, bench->fixture.url, 1);
}

static void end(struct asking *asking)
{
    lookup_free(asking->lookup);
    loop_free(asking->loop);
    text_free(&asking->sql);
    text_free(&asking->words);
}

static void add_event(struct bench *bench, uint64_t head, const char *stream)
{
    char id[EVENT_ID_SIZE];
    memset(id, head == UINT64_MAX ? 0xff : 0, sizeof id); /* nothing lies before or behind them */
    for (size_t i = 0; i < sizeof head; i++)
        id[i] = (char)(uint8_t)(head >> (56 - 8 * i));
    struct record *row = batch_add(&bench->batch, RECORD_TRANSACTION);
    assert_true(
        batch_set_text(&bench->batch, row, TRANSACTION_ACCOUNT, bytes_of(ACCOUNT)) &&
        batch_set_text(&bench->batch, row, TRANSACTION_EVENT_ID, bytes_make(id, sizeof id)) &&
        batch_set_text(&bench->batch, row, TRANSACTION_STREAM, bytes_of(stream)) &&
        batch_set_text(&bench->batch, row, TRANSACTION_PROVIDER, bytes_of("etherscan")) &&
        batch_set_text(&bench->batch, row, TRANSACTION_HASH, bytes_of("0x1")) &&
        batch_set_text(&bench->batch, row, TRANSACTION_STATUS, bytes_of("confirmed")));
    batch_set_int(row, TRANSACTION_SESSION_US, 100);
    batch_set_int(row, TRANSACTION_BLOCK, 5);
}

/* True of every piece, but a piece with this key in its midst takes for ever to say so. */
static void add_condition(struct asking *asking, const char *key, int first, int end)
{
    bool sqlite = strncmp(asking->bench->fixture.url, "sqlite:", 7) == 0;
    text_appendf(&asking->sql,
                 " 0 < (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < "
                 "CASE WHEN %s%s' > ?%d AND %s%s' < ?%d THEN 2000000000 ELSE 1 END) "
                 "SELECT count(*) FROM c)",
                 sqlite ? "x'" : "BYTEA '\\x", key, first, sqlite ? "x'" : "BYTEA '\\x", key, end);
}

static void ask(struct asking *asking, const struct field *params, size_t count, size_t rows_max)
{
    const struct lookup_question question = {.sql = text_string(&asking->sql),
                                             .params = params,
                                             .param_count = count,
                                             .in_pieces = true,
                                             .rows_max = rows_max};
    struct bench *bench = asking->bench;
    assert_ok(lookup_ask_steadily(asking->lookup, &question, take, asking));
    loop_run(asking->loop);
    assert_int_equal(asking->rc, RC_OK);
}

static void count_events(struct asking *asking, const char *cut)
{
    const struct field params[] = {field_text(bytes_of(ACCOUNT)), field_text(bytes_of("normal"))};
    text_clear(&asking->sql);
    text_append_string(&asking->sql, ledger_known_count_sql);
    if (cut != NULL) {
        text_append_string(&asking->sql, " AND");
        add_condition(asking, cut, 3, 4);
    }
    ask(asking, params, 2, 0);
}

static void pieces_count_what_one_question_counts(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    begin(&asking, bench);
    add_event(bench, 0x4000000000000002, "internal");
    for (size_t i = 0; i <= HEADS; i++) {
        assert_ok(write_batch(bench));
        count_events(&asking, NULL);
        assert_int_equal(asking.sum, i);
        count_events(&asking, "4000000000000000");
        assert_int_equal(asking.sum, i);
        assert_true(i == 0 || asking.rows >= 3); /* two halves were too much */
        if (i < HEADS)
            add_event(bench, heads[i], "normal");
    }
    end(&asking);
}

/* 2^57 of 2^64: seven pieces, each half of the one before, have it in their midst. */
static void a_piece_is_halved_as_often_as_it_takes(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    begin(&asking, bench);
    for (size_t i = 0; i < HEADS; i++)
        add_event(bench, heads[i], "normal");
    assert_ok(write_batch(bench));
    count_events(&asking, "0200000000000000");
    assert_int_equal(asking.sum, HEADS);
    assert_true(asking.rows >= 8);
    end(&asking);
}

static void load(struct asking *asking, bool slowly, int64_t limit)
{
    const struct field params[LEDGER_KNOWN_PARAMS] = {field_text(bytes_of(ACCOUNT)),
                                                      field_text(bytes_of("normal")), field_int(0),
                                                      field_int(limit)};
    text_clear(&asking->sql);
    text_appendf(&asking->sql, "SELECT k.* FROM (%s) k", ledger_known_by_block_sql);
    if (slowly) {
        text_append_string(&asking->sql, " WHERE");
        add_condition(asking, "4000000000000000", 5, 6);
    }
    ask(asking, params, LEDGER_KNOWN_PARAMS, (size_t)limit);
}

static void pieces_tell_the_rows_in_order_and_as_many_as_are_wanted(void **state)
{
    struct bench *bench = *state;
    struct asking asking;
    struct text whole = {0};
    begin(&asking, bench);
    for (size_t i = HEADS; i-- > 0;)
        add_event(bench, heads[i], "normal");
    assert_ok(write_batch(bench));
    for (int64_t limit = 1; limit <= HEADS + 1; limit += 2) {
        load(&asking, false, limit);
        assert_int_equal(asking.rows, limit < HEADS ? limit : HEADS);
        text_clear(&whole);
        text_append(&whole, asking.words.data, asking.words.len);
        load(&asking, true, limit);
        assert_int_equal(asking.rows, limit < HEADS ? limit : HEADS);
        assert_int_equal(asking.words.len, whole.len);
        assert_memory_equal(asking.words.data, whole.data, whole.len);
    }
    text_free(&whole);
    end(&asking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(pieces_count_what_one_question_counts),
        ON_STORE(a_piece_is_halved_as_often_as_it_takes),
        ON_STORE(pieces_tell_the_rows_in_order_and_as_many_as_are_wanted),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
