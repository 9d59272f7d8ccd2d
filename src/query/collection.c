/* SPDX-License-Identifier: Apache-2.0 */
#include "query/collection.h"

#include <assert.h>

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
    {"active",     COLUMN_BOOL, "a.active",     "a.active",     false},
    {"seq",        COLUMN_INT,  "t.seq",        "t.seq",        false},
};
static const struct collection_order posts_order[] = {{9, true}};
static const struct collection_index posts_indexes[] = {{{9}, 1}, {{0}, 1}};

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
/* clang-format on */

/* Newest first, by the order in which the rows came. */
static const struct collection_order newest_first[] = {{0, true}};
static const struct collection_index by_id[] = {{{0}, 1}};

#define OF_ENGINE(rows)                                                                            \
    {                                                                                              \
        .name = #rows, .table = #rows " t", .joins = "", .n = "t.id", .columns = rows,             \
        .column_count = COUNT(rows), .order = newest_first, .order_count = COUNT(newest_first),    \
        .indexes = by_id, .index_count = COUNT(by_id), .page_size = 100,                           \
    }

const struct collection collections_built_in[] = {
    {
        .name = "posts",
        .table = "post t",
        .joins = "JOIN actors a ON a.id = t.actor",
        .n = "t.n",
        .columns = posts,
        .column_count = COUNT(posts),
        .order = posts_order,
        .order_count = COUNT(posts_order),
        .indexes = posts_indexes,
        .index_count = COUNT(posts_indexes),
        .page_size = 100,
    },
    OF_ENGINE(gaps),
    OF_ENGINE(owed),
    OF_ENGINE(quarantine),
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
