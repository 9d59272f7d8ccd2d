/* SPDX-License-Identifier: Apache-2.0
 *
 * What is no coin: GitHub, paged by links in a header, and an API that nobody has, for the proof
 * that a connector needs no C. */
#include "base/timestamp.h"
#include "sim/ledger_history.h"
#include "sim/query_string.h"
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#define PER_PAGE_DEFAULT 30u
#define PER_PAGE_MAX     100u

static void put_issue(struct ledger_call *call, const struct chain_tx *tx)
{
    char id[CHAIN_NAME_SIZE];
    chain_tx_name(call->chain, call->family, tx->id, id);
    text_appendf(&call->out, "{\"id\":%s,\"number\":%llu,\"title\":\"Issue %s\",\"state\":\"%s\"",
                 id, (unsigned long long)tx->id + 1, id, tx->failed ? "closed" : "open");
    ledger_put_time(call, "created_at", tx->block);
    ledger_put_time(call, "updated_at", tx->block);
    text_append_string(&call->out, ",\"user\":{\"id\":1");
    ledger_put_address(call, "login", tx->from);
    text_append_string(&call->out, "}}");
}

static void put_commit(struct ledger_call *call, const struct chain_tx *tx)
{
    char hash[CHAIN_NAME_SIZE];
    chain_tx_name(call->chain, FAMILY_BITCOIN, tx->id, hash);
    text_appendf(&call->out, "{\"sha\":\"%.40s\",\"commit\":{\"message\":\"a change\"", hash);
    text_append_string(&call->out, ",\"author\":{\"email\":\"x@example\"");
    ledger_put_address(call, "name", tx->from);
    ledger_put_time(call, "date", tx->block);
    text_append_string(&call->out, "}},\"author\":{\"id\":1");
    ledger_put_address(call, "login", tx->from);
    text_append_string(&call->out, "}}");
}

/* rel="next" and rel="last", with all parameters but the page as they came. */
static void write_links(const struct ledger_call *call, uint64_t page, uint64_t last,
                        struct text *out)
{
    char address[64];
    struct text rest = {0};
    struct query_walk walk = query_walk(call->query);
    while (query_walk_next(&walk))
        if (!bytes_equal_string(walk.name, "page"))
            text_appendf(&rest, "%.*s=%.*s&", (int)walk.name.len, walk.name.data,
                         (int)walk.value.len, walk.value.data);
    query_walk_deinit(&walk);
    sim_address(call->sim, address);
    if (page < last)
        text_appendf(out,
                     "Link: <%s/%s%.*s?%spage=%llu>; rel=\"next\", <%s/%s%.*s?%spage=%llu>; "
                     "rel=\"last\"\r\n",
                     address, call->provider, (int)call->path.len, call->path.data,
                     text_string(&rest), (unsigned long long)page + 1, address, call->provider,
                     (int)call->path.len, call->path.data, text_string(&rest),
                     (unsigned long long)last);
    text_free(&rest);
}

/* How many of the oldest are left out because they are older than `since`. */
static size_t count_older(const struct ledger_call *call, const struct ledger_history *history)
{
    char since[TIMESTAMP_TEXT_MAX];
    int64_t us;
    size_t count = 0;
    if (!query_get(call->query, "since", since, sizeof since) ||
        !timestamp_parse(bytes_of(since), &us))
        return 0;
    while (count < history->count) {
        uint32_t block = ledger_history_tx(history, history->count - 1 - count)->block;
        if (chain_block(call->chain, block)->time_us >= us)
            break;
        count++;
    }
    return count;
}

void ledger_github(struct ledger_call *call)
{
    char direction[8] = "desc";
    struct text headers = {0};
    uint64_t per_page = query_get_u64(call->query, "per_page", PER_PAGE_DEFAULT);
    uint64_t page = query_get_u64(call->query, "page", 1);
    bool commits = memmem(call->path.data, call->path.len, "/commits", 8) != NULL;
    if (!ledger_admit(call, commits ? "commits" : "issues") ||
        ledger_answers_error(call, "{\"message\":\"", "\"}"))
        return;
    query_get(call->query, "direction", direction, sizeof direction);
    bool ascending = strcmp(direction, "asc") == 0;
    if (per_page == 0 || per_page > PER_PAGE_MAX)
        per_page = per_page == 0 ? PER_PAGE_DEFAULT : PER_PAGE_MAX;
    if (page == 0)
        page = 1;
    struct ledger_history history = ledger_history(call, 0, false);
    history.count -= count_older(call, &history);
    size_t place = (size_t)((page - 1) * per_page);
    size_t end = ledger_history_end(&history, place, per_page);
    text_append_char(&call->out, '[');
    for (size_t i = place; i < end; i++) {
        const struct chain_tx *tx =
            ledger_history_tx(&history, ascending ? history.count - 1 - i : i);
        if (i > place)
            text_append_char(&call->out, ',');
        if (commits)
            put_commit(call, tx);
        else
            put_issue(call, tx);
    }
    text_append_char(&call->out, ']');
    write_links(call, page, (history.count + per_page - 1) / per_page, &headers);
    ledger_history_deinit(&history);
    ledger_finish_with(call, text_string(&headers));
    text_free(&headers);
}

/* GET /madeup/tides?since=KEY&most=N, oldest first: {"tides": {KEY: {...}}, "rest": how many are
 * left, "all": how many there are}. */
void ledger_madeup(struct ledger_call *call)
{
    char since[32] = "", key[CHAIN_NAME_SIZE];
    uint64_t most = query_get_u64(call->query, "most", 10);
    size_t place = 0;
    if (!ledger_admit(call, "tides") || ledger_answers_error(call, "{\"trouble\":\"", "\"}"))
        return;
    if (!ledger_key_is_good(http_request_header(http_exchange_request(call->exchange), "X-Tide"))) {
        ledger_refuse(call, 401, "{\"trouble\":\"who are you\"}");
        return;
    }
    struct ledger_history history = ledger_history(call, 0, false);
    query_get(call->query, "since", since, sizeof since);
    if (since[0] != '\0' && ledger_history_after(&history, bytes_of(since), &place))
        place = history.count - place + 1;
    size_t end = ledger_history_end(&history, place, most);
    text_append_string(&call->out, "{\"tides\":{");
    for (size_t i = place; i < end; i++) {
        const struct chain_tx *tx = ledger_history_tx(&history, history.count - 1 - i);
        chain_tx_name(call->chain, call->family, tx->id, key);
        text_appendf(&call->out, "%s\"%s\":{\"level\":\"%llu\",\"moon\":%u,\"at_ms\":%lld",
                     i > place ? "," : "", key, (unsigned long long)ledger_coins(tx), tx->block,
                     (long long)ledger_seconds(call, tx->block) * 1000);
        ledger_put_address(call, "giver", tx->from);
        ledger_put_address(call, "taker", tx->to);
        text_append_char(&call->out, '}');
    }
    text_appendf(&call->out, "},\"rest\":%zu,\"all\":%zu}",
                 history.count - (end < history.count ? end : history.count), history.count);
    ledger_history_deinit(&history);
    ledger_finish(call);
}
