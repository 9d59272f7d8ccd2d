/* SPDX-License-Identifier: Apache-2.0 */
#include "query/collection.h"

#include "base/suggestion.h"

#include <assert.h>

/* One bit of `fixed`. */
#define BIT(column)  (UINT64_C(1) << (column))
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define POST_URI  "'at://' || a.did || '/' || t.collection || '/' || t.rkey"
#define POST_KIND "CASE t.kind WHEN 0 THEN 'post' ELSE 'repost' END"

/* clang-format off */
static const struct column posts[] = {
    {"id",         COLUMN_ID,   "t.n",          "t.n",          false},
    {"uri",        COLUMN_TEXT, POST_URI,       NULL,           false},
    {"actorDid",   COLUMN_TEXT, "a.did",        "a.did",        false},
    {"handle",     COLUMN_TEXT, "a.handle",     "a.handle",     true},
    {"collection", COLUMN_TEXT, "t.collection", "t.collection", false},
    {"rkey",       COLUMN_TEXT, "t.rkey",       "t.rkey",       false},
    {"kind",       COLUMN_TEXT, POST_KIND,      "t.kind",       false},
    {"text",       COLUMN_TEXT, "t.body",       "t.body",       true},
    {"subject",    COLUMN_TEXT, "t.subject",    "t.subject",    true},
    {"sharedAt",   COLUMN_TIME, "t.shared_us",  "t.shared_us",  false},
    {"createdAt",  COLUMN_TIME, "t.created_us", "t.created_us", true},
    {"rev",        COLUMN_TEXT, "t.rev",        "t.rev",        true},
    {"langs",      COLUMN_TEXT, "t.langs",      "t.langs",      true},
    {"tags",       COLUMN_TEXT, "t.tags",       "t.tags",       true},
    {"facets",     COLUMN_JSON, "t.facets",     NULL,           true},
    {"active",     COLUMN_BOOL, "a.active",     "a.active",     false},
    {"seq",        COLUMN_INT,  "t.seq",        "t.seq",        false},
};
static const struct collection_order posts_order[] = {{9, true}};
static const struct collection_index posts_indexes[] = {{{9}, 1}, {{0}, 1}};

static const struct column links[] = {
    {"id",            COLUMN_ID,   "t.id",                "t.id",                false},
    {"url",           COLUMN_TEXT, "t.normalized_url",    "t.normalized_url",    false},
    {"originalUrl",   COLUMN_TEXT, "t.original_url",      "t.original_url",      false},
    {"readerUrl",     COLUMN_TEXT, "t.reader_url",        "t.reader_url",        true},
    {"title",         COLUMN_TEXT, "t.title",             "t.title",             true},
    {"description",   COLUMN_TEXT, "t.description",       "t.description",       true},
    {"image",         COLUMN_TEXT, "t.image_url",         "t.image_url",         true},
    {"domain",        COLUMN_TEXT, "t.domain",            "t.domain",            true},
    {"shares",        COLUMN_INT,  "t.share_count_total", "t.share_count_total", false},
    {"firstSharedAt", COLUMN_TIME, "t.first_shared_us",   "t.first_shared_us",   true},
    {"lastSharedAt",  COLUMN_TIME, "t.last_shared_us",    "t.last_shared_us",    true},
    {"seq",           COLUMN_INT,  "t.seq",               "t.seq",               false},
};
static const struct collection_order links_order[] = {{8, true}};
static const struct collection_index links_indexes[] = {
    {{8}, 1}, {{10}, 1}, {{7}, 1}, {{0}, 1}};

static const struct column follows[] = {
    {"id",                COLUMN_ID,   "t.n",                  "t.n",                  false},
    {"did",               COLUMN_TEXT, "t.did",                "t.did",                false},
    {"handle",            COLUMN_TEXT, "t.handle",             "t.handle",             false},
    {"displayName",       COLUMN_TEXT, "t.display_name",       "t.display_name",       true},
    {"backfillCompleted", COLUMN_BOOL, "CASE WHEN t.backfill_completed THEN 1 ELSE 0 END",
     NULL, false},
    {"degree",            COLUMN_INT,  "c.degree",             NULL,                   true},
    {"active",            COLUMN_BOOL, "a.active",             NULL,                   true},
};
static const struct collection_order follows_order[] = {{2, false}};
static const struct collection_index follows_indexes[] = {{{2}, 1}, {{0}, 1}};

static const struct column gaps[] = {
    {"id",         COLUMN_ID,   "t.id",          "t.id",          false},
    {"source",     COLUMN_TEXT, "t.source",      "t.source",      false},
    {"stream",     COLUMN_TEXT, "t.stream",      "t.stream",      false},
    {"from",       COLUMN_TIME, "t.from_us",     "t.from_us",     false},
    {"to",         COLUMN_TIME, "t.to_us",       "t.to_us",       false},
    {"reason",     COLUMN_TEXT, "t.reason",      "t.reason",      false},
    {"detectedAt", COLUMN_TIME, "t.detected_us", "t.detected_us", false},
    {"closedAt",   COLUMN_TIME, "t.closed_us",   "t.closed_us",   true},
    {"seq",        COLUMN_INT,  "t.seq",         "t.seq",         false},
};

static const struct column owed[] = {
    {"id",       COLUMN_ID,   "t.id",       "t.id",       false},
    {"source",   COLUMN_TEXT, "t.source",   "t.source",   false},
    {"stream",   COLUMN_TEXT, "t.stream",   "t.stream",   false},
    {"item",     COLUMN_TEXT, "t.item",     "t.item",     false},
    {"unit",     COLUMN_TEXT, "t.unit",     "t.unit",     true},
    {"state",    COLUMN_TEXT, "t.state",    "t.state",    false},
    {"reason",   COLUMN_TEXT, "t.reason",   "t.reason",   true},
    {"attempts", COLUMN_INT,  "t.attempts", "t.attempts", false},
    {"nextAt",   COLUMN_TIME, "t.next_us",  "t.next_us",  true},
    {"since",    COLUMN_TIME, "t.since_us", "t.since_us", false},
    {"seq",      COLUMN_INT,  "t.seq",      "t.seq",      false},
};

static const struct column quarantine[] = {
    {"id",       COLUMN_ID,    "t.id",       "t.id",       false},
    {"source",   COLUMN_TEXT,  "t.source",   "t.source",   false},
    {"provider", COLUMN_TEXT,  "t.provider", "t.provider", true},
    {"reason",   COLUMN_TEXT,  "t.reason",   "t.reason",   false},
    {"raw",      COLUMN_BYTES, "t.raw",      NULL,         true},
    {"size",     COLUMN_INT,   "t.size",     "t.size",     false},
    {"times",    COLUMN_INT,   "t.times",    "t.times",    false},
    {"at",       COLUMN_TIME,  "t.at_us",    "t.at_us",    false},
    {"seq",      COLUMN_INT,   "t.seq",      "t.seq",      false},
};

static const struct column transactions[] = {
    {"id",         COLUMN_ID,    "t.n",               "t.n",            false},
    {"account",    COLUMN_TEXT,  "a.name",            "a.name",         false},
    {"provider",   COLUMN_TEXT,  "t.provider_name",   NULL,             false},
    {"stream",     COLUMN_TEXT,  "t.stream",          "t.stream",       false},
    {"hash",       COLUMN_TEXT,  "t.hash",            NULL,             true},
    {"block",      COLUMN_INT,   "t.block",           "t.block",        true},
    {"timestamp",  COLUMN_TIME,  "t.timestamp_us",    "t.timestamp_us", true},
    {"status",     COLUMN_TEXT,  "t.status",          "t.status",       false},
    {"normalized", COLUMN_JSON,  "t.normalized_data", NULL,             true},
    {"raw",        COLUMN_JSON,  "t.provider_data",   NULL,             true},
    {"seq",        COLUMN_INT,   "t.seq",             "t.seq",          false},
};
static const struct collection_order transactions_order[] = {{6, true}};
static const struct collection_index transactions_indexes[] = {{{6}, 1}, {{0}, 1}};

static const struct column accounts[] = {
    {"id",         COLUMN_ID,   "t.id",         "t.id",         false},
    {"name",       COLUMN_TEXT, "t.name",       "t.name",       false},
    {"type",       COLUMN_TEXT, "t.type",       "t.type",       false},
    {"platform",   COLUMN_TEXT, "t.platform",   "t.platform",   false},
    {"identifier", COLUMN_TEXT, "t.identifier", "t.identifier", false},
    {"parent",     COLUMN_TEXT, "p.name",       NULL,           true},
    {"createdAt",  COLUMN_TIME, "t.created_us", "t.created_us", false},
    {"lastCursor", COLUMN_JSON, "v.last_cursor", NULL,          true},
    {"seq",        COLUMN_INT,  "t.seq",        "t.seq",        false},
};

static const struct column import_sessions[] = {
    {"id",          COLUMN_ID,   "t.id",           "t.id",           false},
    {"account",     COLUMN_TEXT, "a.name",         "a.name",         false},
    {"status",      COLUMN_TEXT, "t.status",       "t.status",       false},
    {"imported",    COLUMN_INT,  "t.imported",     "t.imported",     false},
    {"skipped",     COLUMN_INT,  "t.skipped",      "t.skipped",      false},
    {"startedAt",   COLUMN_TIME, "t.started_us",   "t.started_us",   false},
    {"completedAt", COLUMN_TIME, "t.completed_us", "t.completed_us", true},
    {"durationMs",  COLUMN_INT,  "(t.completed_us - t.started_us) / 1000", NULL, true},
    {"error",       COLUMN_TEXT, "t.error",        NULL,             true},
    {"streams",     COLUMN_JSON, "coalesce(v.streams, '[]')", NULL,   false},
    {"seq",         COLUMN_INT,  "t.seq",          "t.seq",          false},
};

static const struct column documents[] = {
    {"id",    COLUMN_ID,   "t.n",            "t.n",     false},
    {"uri",   COLUMN_TEXT, "t.uri",          "t.uri",   false},
    {"state", COLUMN_TEXT, "CASE WHEN t.is_errored THEN 'missing' ELSE 'stored' END", NULL, false},
    {"size",  COLUMN_INT,  "length(t.data)", NULL,      true},
    {"block", COLUMN_INT,  "t.block",        "t.block", false},
    {"space", COLUMN_TEXT, "t.space",        "t.space", true},
    {"seq",   COLUMN_INT,  "t.seq",          "t.seq",   false},
};
static const struct collection_index documents_indexes[] = {{{1}, 1}, {{0}, 1}};

static const struct column blocks[] = {
    {"id",        COLUMN_ID,   "t.n",         "t.n",         false},
    {"number",    COLUMN_INT,  "t.number",    "t.number",    false},
    {"hash",      COLUMN_TEXT, "t.hash",      NULL,          true},
    {"parent",    COLUMN_TEXT, "t.parent",    NULL,          true},
    {"documents", COLUMN_INT,  "t.documents", "t.documents", false},
    {"seq",       COLUMN_INT,  "t.seq",       "t.seq",       false},
};
static const struct collection_order blocks_order[] = {{1, true}};
static const struct collection_index blocks_indexes[] = {{{1}, 1}, {{0}, 1}};
/* clang-format on */

/* Newest first, by the order in which the rows came. */
static const struct collection_order newest_first[] = {{0, true}};
static const struct collection_index by_id[] = {{{0}, 1}};

#define NEWEST_FIRST(rows, table_, joins_, fixed_)                                                 \
    {                                                                                              \
        .name = #rows, .table = table_ " t", .joins = joins_, .n = "t.id", .columns = rows,        \
        .column_count = COUNT(rows), .order = newest_first, .order_count = COUNT(newest_first),    \
        .indexes = by_id, .index_count = COUNT(by_id), .page_size = 100, .tombstones = #rows,      \
        .seq = "t.seq", .fixed = fixed_,                                                           \
    }
#define OF_ENGINE(rows, fixed_) NEWEST_FIRST(rows, #rows, "", fixed_)

const struct collection collections_built_in[] = {
    {
        .name = "posts",
        .table = "post t",
        .joins = "LEFT JOIN actors a ON a.id = t.actor",
        .n = "t.n",
        .only = "t.kind < 2",
        .columns = posts,
        .column_count = COUNT(posts),
        .order = posts_order,
        .order_count = COUNT(posts_order),
        .indexes = posts_indexes,
        .index_count = COUNT(posts_indexes),
        .page_size = 100,
        .tombstones = "posts.n",
        .fixed = BIT(0) | BIT(1) | BIT(2) | BIT(4) | BIT(5), /* what names it */
        .seq = "t.seq",
    },
    OF_ENGINE(gaps, BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4)), /* whose, and from when to when */
    OF_ENGINE(owed, BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(9)), /* whose, what and since when */
    OF_ENGINE(quarantine, BIT(0) | BIT(1) | BIT(3) | BIT(4) | BIT(5)), /* whose, why and what */
    {
        .name = "links",
        .table = "links t",
        .joins = "",
        .n = "t.id",
        .columns = links,
        .column_count = COUNT(links),
        .order = links_order,
        .order_count = COUNT(links_order),
        .indexes = links_indexes,
        .index_count = COUNT(links_indexes),
        .page_size = 100,
        .tombstones = "links",
        .fixed = BIT(0) | BIT(1) | BIT(7), /* the address, and its domain */
        .seq = "t.seq",
    },
    {
        .name = "follows",
        .table = "follows t",
        .joins = "LEFT JOIN actors a ON a.did = t.did LEFT JOIN circle c ON c.did = t.did",
        .n = "t.n",
        .columns = follows,
        .column_count = COUNT(follows),
        .order = follows_order,
        .order_count = COUNT(follows_order),
        .indexes = follows_indexes,
        .index_count = COUNT(follows_indexes),
        .page_size = 100,
        .tombstones = "follows",
        .fixed = BIT(0) | BIT(1), /* who it is */
        .seq = "t.seq",
    },
    {
        .name = "transactions",
        .table = "raw_transactions t",
        .joins = "JOIN account a ON a.id = t.account_id",
        .n = "t.n",
        .columns = transactions,
        .column_count = COUNT(transactions),
        .order = transactions_order,
        .order_count = COUNT(transactions_order),
        .indexes = transactions_indexes,
        .index_count = COUNT(transactions_indexes),
        .page_size = 100,
        .tombstones = "transactions",
        .fixed = BIT(0) | BIT(1) | BIT(3) | BIT(4), /* whose, and which */
        .seq = "t.seq",
    },
    NEWEST_FIRST(accounts, "account",
                 "JOIN accounts v ON v.id = t.id LEFT JOIN account p ON p.id = t.parent_id",
                 BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(6)), /* who, and since when */
    NEWEST_FIRST(import_sessions, "import_sessions",
                 "JOIN account a ON a.id = t.account_id JOIN sessions_shown v ON v.id = t.id",
                 BIT(0) | BIT(1) | BIT(5)), /* whose, and since when */
    {
        .name = "documents",
        .table = "ipfs_cache t",
        .joins = "",
        .n = "t.n",
        .columns = documents,
        .column_count = COUNT(documents),
        .order = newest_first,
        .order_count = COUNT(newest_first),
        .indexes = documents_indexes,
        .index_count = COUNT(documents_indexes),
        .page_size = 100,
        .tombstones = "documents",
        .fixed = BIT(0) | BIT(1) | BIT(4) | BIT(5), /* what it is, and who named it first */
        .seq = "t.seq",
    },
    {
        .name = "blocks",
        .table = "chain_blocks t",
        .joins = "",
        .n = "t.n",
        .columns = blocks,
        .column_count = COUNT(blocks),
        .order = blocks_order,
        .order_count = COUNT(blocks_order),
        .indexes = blocks_indexes,
        .index_count = COUNT(blocks_indexes),
        .page_size = 100,
        .tombstones = "blocks",
        .fixed = BIT(0) | BIT(1), /* which one */
        .seq = "t.seq",
    },
};
const size_t collections_built_in_count = COUNT(collections_built_in);

const struct collection *collection_find(struct bytes name)
{
    for (size_t i = 0; i < collections_built_in_count; i++)
        if (bytes_equal_string(name, collections_built_in[i].name))
            return &collections_built_in[i];
    return NULL;
}

int collection_column(const struct collection *collection, struct bytes name)
{
    assert(collection->column_count <= COLLECTION_COLUMNS_MAX);
    for (size_t i = 0; i < collection->column_count; i++)
        if (bytes_equal_string(name, collection->columns[i].name))
            return (int)i;
    return -1;
}

enum rc collection_refuse_field(const struct collection *collection, const char *where,
                                struct bytes name, struct refusal *refusal)
{
    struct suggestion nearest = suggestion_begin(name);
    struct text words = {0};
    for (size_t i = 0; i < collection->column_count; i++)
        suggestion_try(&nearest, bytes_of(collection->columns[i].name));
    text_appendf(&words, "%s: %s has no field ", where, collection->name);
    suggestion_quote(name, &words);
    suggestion_end(&nearest, "", &words);
    for (size_t i = 0; i < collection->column_count; i++)
        text_appendf(&words, "%s%s", i == 0 ? "; its fields are " : ", ",
                     collection->columns[i].name);
    enum rc rc = refusal_set(refusal, REFUSAL_UNKNOWN_FIELD, "%s", text_string(&words));
    text_free(&words);
    return rc;
}

void collection_docs(struct text *out)
{
    text_append_string(out, "\nThese are built in and can only be read:\n\n"
                            "| collection | order and cursor | page size | fields |\n"
                            "|---|---|---|---|\n");
    for (size_t i = 0; i < collections_built_in_count; i++) {
        const struct collection *at = &collections_built_in[i];
        const struct collection_order *order = &at->order[0];
        text_appendf(out, "| `%s` | `%s` %s | %u |", at->name, at->columns[order->column].name,
                     order->desc ? "desc" : "asc", at->page_size);
        for (size_t k = 0; k < at->column_count; k++)
            text_appendf(out, " `%s`", at->columns[k].name);
        text_append_string(out, " |\n");
    }
}
