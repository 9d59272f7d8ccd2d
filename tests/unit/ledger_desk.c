/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_desk_store.h"

#include "config_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_BATCHES 8

bool ledger_desk_slow;

/* clang-format off */
static const char head[] =
    "version: 1\n"
    "provider: %s\n"
    "platforms: {chain: {native: COIN}}\n"
    "identifier: text\n"
    "base_url: https://%s.example\n"
    "auth: {in: query, name: key}\n"
    "rate: {concurrency: 1}\n"
    "timeout_seconds: 10\n"
    "priority: %d\n"
    "replay: {blocks: 2}\n"
    "settle_blocks: %d\n"
    "responses:\n"
    "- {when: {at: /error, contains: rate limit}, do: rate_limited}\n"
    "- {when: {at: /error, contains: token}, do: restart}\n"
    "- {when: {at: /error, contains: nothing}, do: empty}\n"
    "- {when: {at: /error, contains: too many}, do: smaller}\n"
    "streams:\n"
    "  moves:\n";
static const char rise[] =
    "    request: {path: /rise, query: {account: $account, from: $from, page: $page}}\n"
    "    order: asc\n"
    "    page: {by: keyset, size: 10, first: 1, stop: [short_page], window_max: 30}\n"
    "    resume: {kind: blockNumber, cast: dec}\n";
static const char fall[] =
    "    request: {path: /fall, query: {account: $account, token: $token}}\n"
    "    order: desc\n"
    "    page: {by: token, size: 10, next: {from: body, at: /next}, stop: [token_absent]}\n"
    "    resume: {kind: none}\n";
static const char numbered[] =
    "    request: {path: /fall, query: {account: $account, token: $token, nonce: $nonce}}\n"
    "    order: desc\n"
    "    page: {by: token, size: 10, next: {from: body, at: /next}, stop: [token_absent]}\n"
    "    resume: {kind: none}\n";
static const char timed[] =
    "    request: {path: /fall, query: {account: $account, token: $token}}\n"
    "    order: desc\n"
    "    page: {by: token, size: 10, next: {from: body, at: /next}, stop: [token_absent]}\n"
    "    resume: {kind: timestamp, cast: unix_s}\n";
static const char span[] =
    "    request: {path: /span, query: {account: $account, from: $from, to: $to}}\n"
    "    order: asc\n"
    "    page: {by: range, size: 10}\n"
    "    resume: {kind: blockNumber, cast: dec}\n"
    "    head: {request: {path: /head}, at: /head}\n";
static const char half[] = "    detail: {request: {path: /one, query: {key: $key}}, at: /detail, "
                           "for_each: /hash, absent: owed}\n";
static const char dated[] =
    "    since: {request: {path: /when, query: {time: $since_s}}, at: /block}\n";
static const char headed[] = "    head: {request: {path: /tip}, at: /tip}\n";
static const char counted[] = "    count: {at: /total}\n";
static const char summed[] = "    count: {request: {path: /sum}, at: /total}\n";
static const char tail[] =
    "    records: {at: /rows}\n"
    "    where: {at: /kind, not_in: [other]}\n"
    "    map:\n"
    "      hash: /hash\n"
    "      block: /block\n"
    "      time: {at: /time, cast: unix_s}\n"
    "      amount: /amount\n"
    "      fee: /detail/fee\n"
    "      status: {at: /state, when: {waits: pending}}\n"
    "    identity: {of: [platform, hash, kind, amount], equals: none}\n";
/* clang-format on */

/* ---- the providers ---- */

static void append_event(struct text *out, const struct desk_event *event, bool first)
{
    text_appendf(out, "%s{\"hash\":\"h%u\",\"kind\":\"%s\",\"amount\":", first ? "" : ",",
                 event->number, event->other ? "other" : "move");
    text_appendf(out, event->wide ? "1%029u" : "\"%u\"", event->number);
    if (event->block >= 0)
        text_appendf(out, ",\"block\":%" PRId64 ",\"time\":%" PRId64, event->block,
                     ledger_desk_time_us(event->block) / 1000000);
    text_append_string(out, event->waits ? ",\"state\":\"waits\"}" : "}");
}

static long long param_of(const char *url, const char *name, long long otherwise)
{
    const char *at = strstr(url, name);
    return at == NULL ? otherwise : strtoll(at + strlen(name), NULL, 10);
}

/* Oldest first from a block on, page by page. */
static void append_rise(const struct ledger_desk *desk, const char *url, struct text *out)
{
    long long from = param_of(url, "from=", 0), page = param_of(url, "page=", 1);
    long long skip = (page - 1) * LEDGER_DESK_SIZE, taken = 0;
    assert_true(page * LEDGER_DESK_SIZE <= 30);
    text_append_string(out, "{\"rows\":[");
    size_t hidden = desk->hidden[strstr(url, "//alpha.") == NULL];
    for (size_t i = 0; i < desk->count; i++) {
        if (desk->chain[i].block < from || (hidden > 0 && i == hidden) || skip-- > 0 ||
            taken == LEDGER_DESK_SIZE)
            continue;
        append_event(out, &desk->chain[i], taken++ == 0);
    }
    text_append_string(out, "]}");
}

static int64_t head_of(const struct ledger_desk *desk, const char *url)
{
    int64_t newest = desk->count > 0 ? desk->chain[desk->count - 1].block : 0;
    return newest - desk->behind[strstr(url, "//alpha.") == NULL];
}

/* The blocks of a range, which may not lie beyond the head. */
static void append_span(const struct ledger_desk *desk, const char *url, struct text *out)
{
    long long from = param_of(url, "from=", -1), to = param_of(url, "to=", -1);
    assert_true(from >= 0 && from <= to && to - from < 10 && to <= head_of(desk, url));
    unsigned rows = 0;
    text_append_string(out, "{\"rows\":[");
    for (size_t i = 0; i < desk->count; i++)
        if (desk->chain[i].block >= from && desk->chain[i].block <= to)
            append_event(out, &desk->chain[i], rows++ == 0);
    if (desk->stray > 0)
        append_event(out, &(struct desk_event){desk->stray, .number = 9999}, rows++ == 0);
    text_append_string(out, "]}");
    if (desk->rows_max == 0 || rows <= desk->rows_max)
        return;
    text_clear(out);
    text_append_string(out, "{\"error\":\"too many rows\"}");
}

/* Newest first; the token is the number of the last row of the page before. */
static void append_fall(const struct ledger_desk *desk, const char *url, struct text *out)
{
    long long after = param_of(url, "token=", -1);
    size_t at = desk->count, taken = 0;
    while (after >= 0 && at > 0 && desk->chain[at - 1].number != after)
        at--;
    at -= after >= 0;
    text_append_string(out, "{\"rows\":[");
    for (; at > 0 && taken < desk->page_rows; at--)
        append_event(out, &desk->chain[at - 1], taken++ == 0);
    text_append_char(out, ']');
    if (at > 0)
        text_appendf(out, ",\"next\":\"%u\"", desk->chain[at].number);
    text_appendf(out, ",\"total\":%zu}", desk->count + desk->claimed);
}

/* What a record is completed with. */
static void append_detail(const struct ledger_desk *desk, const char *url, struct text *out)
{
    long long number = param_of(url, "key=h", -1);
    text_append_string(out, "{\"detail\":");
    bool known = desk->unknown_detail != -2 && number != desk->unknown_detail;
    if (desk->unknown_detail == -3)
        text_append_string(out, "{\"fee\":\"1\"},\"error\":\"nothing more here\"}");
    else
        text_append_string(out, known ? "{\"fee\":\"7\"}}" : "null}");
}

/* The newest block that is not younger. */
static void append_block(const struct ledger_desk *desk, const char *url, struct text *out)
{
    int64_t time_us = param_of(url, "time=", 0) * INT64_C(1000000);
    size_t at = desk->count;
    while (at > 0 && ledger_desk_time_us(desk->chain[at - 1].block) > time_us)
        at--;
    if (at == 0)
        text_append_string(out, "{\"error\":\"no such block\"}");
    else
        text_appendf(out, "{\"block\":%" PRId64 "}", desk->chain[at - 1].block);
}

static enum desk_fault fault_of(struct ledger_desk *desk, unsigned who)
{
    unsigned nth = desk->asked[who]++;
    bool on =
        nth >= desk->fault_at[who] && (desk->fault_end[who] == 0 || nth < desk->fault_end[who]);
    return on ? desk->faults[who] : FAULT_NONE;
}

static void append_answer(struct ledger_desk *desk, const char *url, struct text *body)
{
    if (strstr(url, "/tip") != NULL)
        text_appendf(body, "{\"tip\":%" PRId64 "}", desk->head);
    else if (strstr(url, "/sum") != NULL)
        text_appendf(body, "{\"total\":%zu}", desk->count + desk->claimed);
    else if (strstr(url, "/rise") != NULL)
        append_rise(desk, url, body);
    else if (strstr(url, "/span") != NULL)
        append_span(desk, url, body);
    else if (strstr(url, "/head") != NULL)
        text_appendf(body, "{\"head\":%" PRId64 "}", head_of(desk, url));
    else if (strstr(url, "/when") != NULL)
        append_block(desk, url, body);
    else if (strstr(url, "/one") != NULL)
        append_detail(desk, url, body);
    else
        append_fall(desk, url, body);
}

static void answer_request(struct ledger_desk *desk)
{
    static const struct {
        int status;
        const char *body;
    } faults[] = {[FAULT_DEAD] = {503, "{}"},
                  [FAULT_EMPTY] = {200, "{\"error\":\"nothing here\"}"},
                  [FAULT_LIMITED] = {200, "{\"error\":\"rate limit reached\"}"},
                  [FAULT_KEY] = {401, "{}"},
                  [FAULT_GONE] = {410, "{}"},
                  [FAULT_TOKEN] = {200, "{\"error\":\"token unknown\"}"},
                  [FAULT_GARBLED] = {200, "{\"rows\":[{\"hash\":"},
                  [FAULT_SHAPE] = {200, "{\"rows\":7}"}};
    size_t number = desk->answered++;
    const struct desk_request *sent = &desk->http.sent[number];
    struct text body = {0};
    if (sent->done == NULL)
        return; /* cancelled */
    enum desk_fault fault = fault_of(desk, strstr(sent->url, "//alpha.") == NULL);
    bool whole = fault == FAULT_NONE || fault == FAULT_AGAIN || fault == FAULT_LAST;
    if (whole)
        append_answer(desk, sent[fault == FAULT_AGAIN ? -1 : 0].url, &body);
    else
        text_append_string(&body, faults[fault].body);
    char *next = fault == FAULT_LAST ? strstr(body.data, "\"next\"") : NULL;
    if (next != NULL)
        memcpy(next, "\"none\"", strlen("\"none\""));
    http_desk_answer(&desk->http, number, whole ? 200 : faults[fault].status, text_string(&body));
    text_free(&body);
}

/* ---- running ---- */

static const char *const provider_names[] = {"alpha", "beta"};

void ledger_desk_connector(const char *order, unsigned number, struct text *yaml)
{
    static const struct {
        const char *order, *list, *more;
    } shapes[] = {{"rise", rise, ""},         {"dated", rise, dated},     {"headed", rise, headed},
                  {"crowd", rise, ""},        {"span", span, ""},         {"timed", timed, ""},
                  {"numbered", numbered, ""}, {"counted", fall, counted}, {"half", fall, half},
                  {"fall", fall, ""},         {"summed", fall, summed},   {"settled", fall, ""}};
    size_t at = 0;
    const char *name = provider_names[number];
    while (strcmp(shapes[at].order, order) != 0)
        assert_true(++at < sizeof shapes / sizeof shapes[0]);
    bool settles = strcmp(order, "headed") == 0 || strcmp(order, "settled") == 0;
    text_appendf(yaml, head, name, name, (int)number * 10, settles ? 3 : 0);
    text_appendf(yaml, "%s%s%s", shapes[at].list, shapes[at].more, tail);
    for (char more = 'a'; more < 'd' && strcmp(order, "crowd") == 0; more++)
        text_appendf(yaml, "  %c:\n%s%s", more, shapes[at].list, tail);
}

static void add_providers(struct ledger_desk *desk, const char *order, unsigned providers)
{
    struct config config;
    struct err err;
    desk->providers = ledger_providers_new();
    config_init(&config);
    for (unsigned i = 0; i < providers; i++) {
        struct text yaml = {0};
        bool mixed = strcmp(order, "mixed") == 0, partly = strcmp(order, "partly") == 0;
        const char *second = mixed ? "rise" : "half";
        ledger_desk_connector(!mixed && !partly ? order : i == 0 ? "fall" : second, i, &yaml);
        if (ledger_providers_add(desk->providers, text_bytes(&yaml), provider_names[i], &config, 0,
                                 &err) != RC_OK)
            fail_msg("%s", err.text);
        text_free(&yaml);
    }
    config_deinit(&config);
}

static void set_up(struct ledger_desk *desk, const char *order, unsigned providers)
{
    *desk = (struct ledger_desk){
        .unknown_detail = -1, .since_us = -1, .timed = strcmp(order, "timed") == 0};
    desk->page_rows = LEDGER_DESK_SIZE;
    http_desk_init(&desk->http);
    desk->env = (struct source_env){.runtime = &desk->http.clock.runtime,
                                    .pool = batch_pool_new(POOL_BATCHES, 1 << 20),
                                    .submit = ledger_desk_submit,
                                    .submit_arg = desk,
                                    .ask_steadily = ledger_desk_ask,
                                    .ask_arg = desk};
    add_providers(desk, order, providers);
}

static void tear_down(struct ledger_desk *desk)
{
    ledger_providers_free(desk->providers);
    batch_pool_free(desk->env.pool);
    http_desk_deinit(&desk->http);
    free(desk->cursor);
}

struct ledger_desk *ledger_desk_new(const char *order, unsigned providers, unsigned rows)
{
    struct ledger_desk *desk = malloc(sizeof *desk);
    assert_non_null(desk);
    set_up(desk, order, providers);
    desk->store_last = ledger_desk_slow;
    for (unsigned i = 0; i < rows; i++)
        ledger_desk_mine(desk, 100 + i / 3, 1);
    return desk;
}

void ledger_desk_free(struct ledger_desk *desk)
{
    tear_down(desk);
    free(desk);
}

void ledger_desk_restart(struct ledger_desk *desk, const char *order, unsigned providers)
{
    ledger_providers_free(desk->providers);
    add_providers(desk, order, providers);
}

void ledger_desk_mine(struct ledger_desk *desk, int64_t block, unsigned rows)
{
    for (unsigned i = 0; i < rows; i++) {
        assert_true(desk->count < LEDGER_DESK_ROWS);
        desk->chain[desk->count] =
            (struct desk_event){.block = block, .number = (unsigned)desk->count};
        desk->count++;
    }
}

static void on_ended(void *arg, struct ledger_account *account)
{
    struct ledger_desk *desk = arg;
    (void)account;
    desk->over = true;
}

bool ledger_desk_step(struct ledger_desk *desk)
{
    bool asked = desk->question_count > 0 || desk->answered < desk->http.sent_count;
    bool full = desk->stored_max > 0 && desk->batches >= desk->stored_max;
    assert_true(desk->handed_count <= 1); /* a stream's batches go one by one */
    if (desk->handed_count > 0 && !(asked && desk->store_last) && !full) {
        struct batch *batch = desk->handed[0];
        desk->handed_count = 0;
        ledger_desk_commit(desk, batch);
        batch->answered(batch->owner, batch, RC_OK);
        return true;
    }
    if (desk->question_count > 0) {
        ledger_desk_answer(desk);
        return true;
    }
    if (desk->answered < desk->http.sent_count) {
        desk->overlaps += desk->handed_count;
        answer_request(desk);
        if (desk->stop_after > 0 && desk->answered == desk->stop_after)
            ledger_account_stop(desk->account);
        return true;
    }
    return false;
}

/* It waits: does it say what for? */
static void note_waiting(struct ledger_desk *desk)
{
    struct ledger_account_view view;
    struct ledger_stream_view stream;
    ledger_account_look(desk->account, &view);
    if (view.stream_count == 0)
        return;
    ledger_account_look_stream(desk->account, 0, &stream);
    desk->throttled |= stream.state == LEDGER_WAITING && stream.limited;
}

/* What was under way when the program died. */
static void clear_up(struct ledger_desk *desk)
{
    for (size_t i = 0; i < desk->handed_count; i++)
        batch_give_back(desk->handed[i]);
    desk->handed_count = desk->question_count = 0;
    ledger_account_free(desk->account);
    desk->answered = desk->http.sent_count;
}

void ledger_desk_begin(struct ledger_desk *desk)
{
    const struct ledger_account_options options = {.since_us = desk->since_us};
    struct err err;
    desk->over = false;
    if (ledger_account_new(&desk->env, desk->providers, bytes_of("chain:me"), &options, on_ended,
                           desk, &desk->account, &err) != RC_OK)
        fail_msg("%s", err.text);
    ledger_account_start(desk->account);
}

enum ledger_outcome ledger_desk_finish(struct ledger_desk *desk)
{
    struct ledger_account_view view;
    for (unsigned idle = 0; !desk->over && idle < 5000;) {
        if (desk->batches_max > 0 && desk->batches >= desk->batches_max)
            break;
        if (ledger_desk_step(desk))
            continue;
        note_waiting(desk);
        http_desk_pass(&desk->http, 500 * DESK_MS);
        idle++;
    }
    ledger_account_look(desk->account, &view);
    assert_true(desk->over || desk->batches_max > 0);
    clear_up(desk);
    return desk->over ? view.outcome : LEDGER_UNDECIDED;
}

enum ledger_outcome ledger_desk_run(struct ledger_desk *desk)
{
    ledger_desk_begin(desk);
    return ledger_desk_finish(desk);
}

size_t ledger_desk_requests(struct ledger_desk *desk, enum ledger_outcome expected)
{
    size_t before = desk->http.sent_count;
    assert_int_equal(ledger_desk_run(desk), expected);
    return desk->http.sent_count - before;
}

void ledger_desk_expect_truth(const struct ledger_desk *desk)
{
    assert_int_equal(desk->row_count - ledger_desk_orphans(desk), desk->count);
    for (size_t i = 0; i < desk->count; i++) {
        char hash[24];
        size_t found = 0;
        snprintf(hash, sizeof hash, "h%u", desk->chain[i].number);
        for (size_t k = 0; k < desk->row_count; k++)
            found += strcmp(desk->rows[k].hash, hash) == 0 &&
                     desk->rows[k].block == desk->chain[i].block &&
                     strcmp(desk->rows[k].status, "orphaned") != 0;
        assert_int_equal(found, 1);
    }
}

void ledger_desk_expect_complete(struct ledger_desk *desk)
{
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
}

void ledger_desk_expect_once(const struct ledger_desk *desk)
{
    for (size_t i = 0; i < desk->row_count; i++)
        assert_int_equal(desk->rows[i].times, 1);
}

void ledger_desk_fault(struct ledger_desk *desk, unsigned provider, enum desk_fault fault,
                       unsigned at, unsigned end)
{
    desk->faults[provider] = fault;
    desk->fault_at[provider] = at;
    desk->fault_end[provider] = end;
}

size_t ledger_desk_orphans(const struct ledger_desk *desk)
{
    size_t orphaned = 0;
    for (size_t i = 0; i < desk->row_count; i++)
        orphaned += strcmp(desk->rows[i].status, "orphaned") == 0;
    return orphaned;
}

size_t ledger_desk_older(const struct ledger_desk *desk, int64_t block)
{
    size_t older = 0;
    for (size_t i = 0; i < desk->row_count; i++)
        older += desk->rows[i].block < block;
    return older;
}

const char *ledger_desk_url(const struct ledger_desk *desk, size_t back)
{
    assert_true(back < desk->http.sent_count);
    return desk->http.sent[desk->http.sent_count - 1 - back].url;
}

static int be_slow(void **state)
{
    (void)state;
    ledger_desk_slow = true;
    return 0;
}

int ledger_desk_run_tests(const struct CMUnitTest *tests, size_t count)
{
    int failed = _cmocka_run_group_tests("the store is quick", tests, count, NULL, NULL);
    return failed + _cmocka_run_group_tests("the store is slow", tests, count, be_slow, NULL);
}
