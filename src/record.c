/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include "base/json_write.h"

#define T  FIELD_TEXT
#define I  FIELD_INT
#define B  FIELD_BLOB
#define T8 T, T, T, T, T, T, T, T
#define NAMES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define TYPES(...)                                                                                 \
    (const enum field_type[])                                                                      \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const struct record_kind record_kinds[RECORD_ID_COUNT] = {
    [RECORD_POST] = {"post",
                     NAMES("did", "collection", "rkey", "op", "kind", "rev", "shared_us",
                           "created_us", "body", "subject", "subject_did", "subject_collection",
                           "subject_rkey", "cid", "asof_seq", "subject_cid", "fresh", "langs",
                           "tags", "facets"),
                     TYPES(T, T, T, I, I, T, I, I, T, T, T, T, T, T, I, T, I, T, T, T), POST_FIELDS,
                     3, POST_REV, POST_SHARED_US, POST_OP, false, POST_KIND, POST_FRESH},
    [RECORD_LINK] = {"link",
                     NAMES("did", "collection", "rkey", "url", "rev", "reader_url", "domain",
                           "flags", "title", "description", "image_url"),
                     TYPES(T, T, T, T, T, T, T, I, T, T, T), LINK_FIELDS, 5, -1, -1, -1, false, 0,
                     0},
    [RECORD_CARD] = {"card",
                     NAMES("url", "at_us", "title", "description", "image_url", "same_as",
                           "same_reader_url", "same_domain", "same_flags"),
                     TYPES(T, I, T, T, T, T, T, T, I), CARD_FIELDS, 1, CARD_AT_US, -1, -1, true, 0,
                     0},
    [RECORD_PICTURE] = {"picture", NAMES("name", "link", "at_us", "reason", "keep_bytes", "data"),
                        TYPES(T, I, I, T, I, B), PICTURE_FIELDS, 1, PICTURE_AT_US, -1, -1, true, 0,
                        0},
    [RECORD_ACCOUNT] = {"account", NAMES("did", "at_us", "active", "status"), TYPES(T, I, I, T),
                        ACCOUNT_FIELDS, 1, ACCOUNT_AT_US, -1, -1, true, 0, 0},
    [RECORD_IDENTITY] = {"identity", NAMES("did", "at_us", "handle"), TYPES(T, I, T),
                         IDENTITY_FIELDS, 1, IDENTITY_AT_US, -1, -1, true, 0, 0},
    [RECORD_PROFILE] = {"profile", NAMES("did", "at_us", "handle", "display_name", "avatar"),
                        TYPES(T, I, T, T, T), PROFILE_FIELDS, 1, PROFILE_AT_US, -1, -1, true, 0, 0},
    [RECORD_FOLLOW] = {"follow",
                       NAMES("owner", "listing", "did", "handle", "display_name", "avatar"),
                       TYPES(T, I, T, T, T, T), FOLLOW_FIELDS, 3, -1, -1, -1, false, 0, 0},
    [RECORD_LISTING] = {"listing",
                        NAMES("owner", "id", "at_us", "degree", "sources_min", "second_max",
                              "entries", "actor", "actors", "since_us", "priority"),
                        TYPES(T, I, I, I, I, I, I, T, I, I, I), LISTING_FIELDS, 1, LISTING_ID, -1,
                        -1, false, 0, 0},
    [RECORD_BACKFILL] = {"backfill",
                         NAMES("did", "op", "priority", "since_us", "sweep", "attempts", "next_us",
                               "at_us", "reason"),
                         TYPES(T, I, I, I, T, I, I, I, T), BACKFILL_FIELDS, 0, -1, -1, -1, false, 0,
                         0},
    [RECORD_POLL] = {"poll", NAMES("user_handle", "cursor", "at_us", "fetched", "former"),
                     TYPES(T, T, I, I, T), POLL_FIELDS, 0, -1, -1, -1, false, 0, 0},
    [RECORD_LEDGER_ACCOUNT] = {"ledger_account",
                               NAMES("name", "type", "platform", "identifier", "parent", "at_us"),
                               TYPES(T, T, T, T, T, I), LEDGER_ACCOUNT_FIELDS, 1, -1, -1, -1, false,
                               0, 0},
    [RECORD_SESSION] = {"session",
                        NAMES("account", "started_us", "status", "stream", "provider", "complete",
                              "skipped", "at_us", "error", "family", "nonce"),
                        TYPES(T, I, T, T, T, I, I, I, T, I, I), SESSION_FIELDS, 0, -1, -1, -1,
                        false, 0, 0},
    [RECORD_TRANSACTION] = {"transaction",
                            NAMES("account", "event_id", "stream", "provider", "session_us", "hash",
                                  "block", "at_us", "status", "provider_data", "normalized_data",
                                  "replaces", "untold", "claimed"),
                            TYPES(T, B, T, T, I, T, I, I, T, T, T, I, I, I), TRANSACTION_FIELDS, 2,
                            TRANSACTION_BLOCK, -1, -1, true, 0, 0},
    [RECORD_DOCUMENT] = {"document", NAMES("uri", "block", "data", "whole", "space", "canonical"),
                         TYPES(T, I, B, I, T, T), DOCUMENT_FIELDS, 1, DOCUMENT_WHOLE, -1, -1, false,
                         0, 0},
    [RECORD_UNDO] = {"undo", NAMES("after"), TYPES(I), UNDO_FIELDS, 0, -1, -1, -1, false, 0, 0},
    [RECORD_BLOCK] = {"block", NAMES("number", "hash", "parent", "documents"), TYPES(I, T, T, I),
                      BLOCK_FIELDS, 1, -1, -1, -1, false, 0, 0},
    [RECORD_SETTLED] = {"settled", NAMES("from_block", "before_block"), TYPES(I, I), SETTLED_FIELDS,
                        0, -1, -1, -1, false, 0, 0},
    [RECORD_REFERENCE] = {"reference", NAMES("block", "ordinal", "uri", "space"), TYPES(I, I, T, T),
                          REFERENCE_FIELDS, 2, -1, -1, -1, false, 0, 0},
    /* Of the columns only the names hold for every row; each has the types of its collection. */
    [RECORD_ROW] = {"row",
                    NAMES("act", "collection", "at_us", "key", "digest", "extra", "was", "id", "c0",
                          "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12",
                          "c13", "c14", "c15", "c16", "c17", "c18", "c19", "c20", "c21", "c22",
                          "c23", "c24", "c25", "c26", "c27", "c28", "c29", "c30", "c31", "c32",
                          "c33", "c34", "c35", "c36", "c37", "c38", "c39", "c40", "c41", "c42",
                          "c43", "c44", "c45", "c46"),
                    TYPES(I, T, I, T, B, T, T, T, T8, T8, T8, T8, T8, T, T, T, T, T, T, T),
                    ROW_FIELDS, 0, -1, -1, -1, false, 0, 0},
    [RECORD_QUARANTINE] = {"quarantine",
                           NAMES("source", "digest", "provider", "raw", "size", "reason", "at_us"),
                           TYPES(T, B, T, B, I, T, I), QUARANTINE_FIELDS, 2, -1, -1, -1, false, 0,
                           0},
    [RECORD_OWED] = {"owed",
                     NAMES("source", "stream", "item", "unit", "state", "reason", "attempts",
                           "next_us", "at_us", "refused_by"),
                     TYPES(T, T, T, T, T, T, I, I, I, T), OWED_FIELDS, 3, -1, -1, -1, false, 0, 0},
    [RECORD_GAP] = {"gap",
                    NAMES("source", "stream", "from_us", "to_us", "reason", "detected_us",
                          "closed_us"),
                    TYPES(T, T, I, I, T, I, I), GAP_FIELDS, 4, -1, -1, -1, false, 0, 0},
    [RECORD_COVERAGE] = {"coverage", NAMES("source", "stream", "lo", "hi"), TYPES(T, T, I, I),
                         COVERAGE_FIELDS, 0, -1, -1, -1, false, 0, 0},
    [RECORD_PROVIDER] = {"provider", NAMES("source", "name", "state", "reason", "chosen", "at_us"),
                         TYPES(T, T, T, T, T, I), PROVIDER_FIELDS, 2, -1, -1, -1, false, 0, 0},
    [RECORD_PRUNE] = {"prune",
                      NAMES("at_us", "tombstones_us", "gaps_us", "posts_us", "threshold",
                            "below_us", "links_us", "pages_us", "polls"),
                      TYPES(I, I, I, I, I, I, I, I, I), PRUNE_FIELDS, 0, -1, -1, -1, false, 0, 0},
    [RECORD_RESET] = {"reset", NAMES("source", "stream"), TYPES(T, T), RESET_FIELDS, 2, -1, -1, -1,
                      false, 0, 0},
    [RECORD_CURSOR] = {"cursor", NAMES("source", "stream", "state", "position", "at_us", "opaque"),
                       TYPES(T, T, T, I, I, T), CURSOR_ROW_FIELDS, 2, -1, -1, -1, false, 0, 0},
};

static void put_hex(struct json_writer *json, struct bytes blob)
{
    struct text hex = {0};
    for (size_t i = 0; i < blob.len; i++)
        text_appendf(&hex, "%02x", (unsigned)(unsigned char)blob.data[i]);
    json_put_cstring(json, text_string(&hex));
    text_free(&hex);
}

static void put_field(struct json_writer *json, const struct field *field)
{
    if (field->null)
        json_put_null(json);
    else if (field->type == FIELD_INT)
        json_put_i64(json, field->i);
    else if (field->type == FIELD_REAL)
        json_put_real(json, field->d);
    else if (field->type == FIELD_TEXT)
        json_put_string(json, field->b);
    else
        put_hex(json, field->b);
}

void record_print(const struct record *record, struct text *out)
{
    const struct record_kind *kind = &record_kinds[record->kind];
    struct json_writer json;
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, "record");
    json_put_cstring(&json, kind->name);
    for (unsigned i = 0; i < record->field_count; i++) {
        json_key(&json, kind->field_names[i]);
        put_field(&json, &record->fields[i]);
    }
    json_end_object(&json);
}
