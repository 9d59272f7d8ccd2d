/* SPDX-License-Identifier: Apache-2.0 */
#include "page_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void page_bench_run(struct bench *bench, const char *sql)
{
    assert_ok(bench->store->ops->script(bench->store, sql, &bench->err));
}

int page_bench_set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct store_position position;
    assert_ok(things_open(&bench->fixture, &bench->store, &bench->err));
    assert_ok(store_claim(bench->store, "test", NULL, 1, &position, &bench->err));
    bench->doc = json_doc_new(8 << 20, JSON_DEPTH_MAX);
    *state = bench;
    both_stores_executed++;
    return 0;
}

int page_bench_tear_down(void **state)
{
    struct bench *bench = *state;
    handle_state_forget(&bench->state);
    page_free(&bench->answer.page);
    text_free(&bench->script);
    json_doc_free(bench->doc);
    store_close(bench->store);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

static const struct collection *find(void *arg, struct bytes name)
{
    (void)arg;
    return bytes_equal_string(name, things.name) ? &things : collection_find(name);
}

enum rc page_bench_open_around(struct bench *bench, const struct collection *collection,
                               const char *order, unsigned page_size, const char *id)
{
    static uint64_t names;
    struct handle_state *state = &bench->state;
    const struct handle_opening question = {.around = bytes_of(id)};
    struct json root;
    handle_state_forget(state);
    *state = (struct handle_state){.collection = collection, .page_size = page_size};
    names++;
    memcpy(state->name, &names, sizeof names);
    bench->question = (struct handle_question){.finder = {find, NULL}, .idle_us_max = 1};
    assert_ok(json_parse_copy(bench->doc, bytes_of(order), &root, &bench->err));
    assert_ok(order_parse(collection, root, &state->order, &bench->refusal));
    return handle_open(bench->store, state, &question, &bench->refusal, &bench->err);
}

void page_bench_open(struct bench *bench, const struct collection *collection, const char *order,
                     unsigned page_size)
{
    assert_ok(page_bench_open_around(bench, collection, order, page_size, NULL));
}

void page_bench_forget(struct bench *bench)
{
    handle_state_forget(&bench->state);
}

enum rc page_bench_try(struct bench *bench)
{
    return handle_ask(bench->store, &bench->state, &bench->question, &bench->answer,
                      &bench->refusal, &bench->err);
}

static size_t ask(struct bench *bench, enum walk_direction direction, const int64_t *number,
                  int64_t *ids)
{
    bench->question.direction = direction;
    bench->question.named = number != NULL;
    bench->question.page = number == NULL ? 0 : *number;
    assert_ok(page_bench_try(bench));
    return things_read_ids(bench->doc, &bench->answer.page.items, ids);
}

size_t page_bench_ask_on(struct bench *bench, const int64_t *number, int64_t *ids)
{
    return ask(bench, WALK_NEXT, number, ids);
}

size_t page_bench_ask_back(struct bench *bench, const int64_t *number, int64_t *ids)
{
    return ask(bench, WALK_PREVIOUS, number, ids);
}

size_t page_bench_ask(struct bench *bench, int64_t number, int64_t *ids, bool *has_more)
{
    size_t count = page_bench_ask_on(bench, number == -1 ? NULL : &number, ids);
    *has_more = bench->answer.has_more;
    return count;
}
