/* SPDX-License-Identifier: Apache-2.0 */
#include "store/verification.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define OF_SQLITE       (&store_sqlite_ops)
#define OF_BOTH         NULL
#define POST_OF_KEY     "a.did || '/' || p.collection || '/' || p.rkey"
#define POST_OF_SUBJECT "a.did || '/' || s.collection || '/' || s.rkey"

/* A query whose every row is one violation, its first column a sentence. */
struct rule {
    const char *name;
    const struct store_ops *only; /* OF_BOTH: asked of either store */
    const char *sql;
};

/* clang-format off */
static const struct rule rules[] = {
    {"integrity", OF_SQLITE, "PRAGMA integrity_check(100)"},
    {"foreign_keys", OF_SQLITE,
     "SELECT 'a row of ' || \"table\" || ' refers to a missing row of ' || parent "
     "FROM pragma_foreign_key_check"},
    {"engine", OF_BOTH,
     "SELECT 'engine has ' || count(*) || ' rows' FROM engine HAVING count(*) <> 1 UNION ALL "
     "SELECT 'epoch ' || epoch || ', commit_seq ' || commit_seq || ', next_n ' || next_n "
     "FROM engine WHERE epoch < 0 OR commit_seq < 0 OR next_n < 1 UNION ALL "
     "SELECT 'lease ' || l.name || ' has epoch ' || l.epoch || ', the store ' || e.epoch "
     "FROM leases l JOIN engine e ON l.epoch > e.epoch"},
    {"ingest_numbers", OF_BOTH,
     "SELECT m.name || ' has number ' || m.n || ', the next one is ' || e.next_n FROM engine e "
     "JOIN (SELECT 'post' AS name, max(n) AS n FROM post UNION ALL "
     "SELECT 'actors', max(id) FROM actors UNION ALL SELECT 'gaps', max(id) FROM gaps UNION ALL "
     "SELECT 'links', max(id) FROM links UNION ALL "
     "SELECT 'owed', max(id) FROM owed UNION ALL "
     "SELECT 'quarantine', max(id) FROM quarantine UNION ALL "
     "SELECT 'account', max(id) FROM account UNION ALL "
     "SELECT 'import_sessions', max(id) FROM import_sessions UNION ALL "
     "SELECT 'raw_transactions', max(n) FROM raw_transactions UNION ALL "
     "SELECT 'chain_blocks', max(n) FROM chain_blocks UNION ALL "
     "SELECT 'ipfs_cache', max(n) FROM ipfs_cache) m ON m.n >= e.next_n"},
    {"commit_numbers", OF_BOTH,
     "SELECT m.name || ' has seq ' || m.seq || ', the last commit is ' || e.commit_seq "
     "FROM engine e JOIN (SELECT 'post' AS name, max(seq) AS seq FROM post UNION ALL "
     "SELECT 'cursors', max(seq) FROM cursors UNION ALL SELECT 'gaps', max(seq) FROM gaps "
     "UNION ALL SELECT 'owed', max(seq) FROM owed UNION ALL "
     "SELECT 'quarantine', max(seq) FROM quarantine UNION ALL "
     /* What somebody deleted by hand is of the commit to come, and has no date yet. */
     "SELECT 'tombstones', max(CASE WHEN at_us = 0 THEN seq - 1 ELSE seq END) FROM tombstones "
     "UNION ALL "
     "SELECT 'links', max(seq) FROM links UNION ALL "
     "SELECT 'past_rows', max(seq) FROM past_rows UNION ALL "
     "SELECT 'account', max(seq) FROM account UNION ALL "
     "SELECT 'import_sessions', max(seq) FROM import_sessions UNION ALL "
     "SELECT 'raw_transactions', max(seq) FROM raw_transactions UNION ALL "
     "SELECT 'chain_blocks', max(seq) FROM chain_blocks UNION ALL "
     "SELECT 'ipfs_cache', max(seq) FROM ipfs_cache) m ON m.seq > e.commit_seq"},
    {"content", OF_BOTH,
     "SELECT d.uri || ' of block ' || d.block_number || ' is neither stored nor owed nor dead' "
     "FROM meta m JOIN document_refs d ON d.block_number <= m.block_number "
     "LEFT JOIN ipfs_cache c ON c.uri = d.uri WHERE m.id = 'content' "
     "AND (c.uri IS NULL OR (c.is_errored AND NOT EXISTS (SELECT 1 FROM ipfs_cache s "
     "JOIN owed o ON o.source = 'content' AND o.stream = m.id AND o.item = s.uri "
     "WHERE s.uri = c.uri OR s.canonical = c.canonical)))"},
    {"coverage", OF_BOTH,
     "SELECT c.source || '/' || c.stream || ': [' || c.lo || ', ' || c.hi || ') is empty' "
     "FROM coverage c WHERE c.lo >= c.hi UNION ALL "
     "SELECT a.source || '/' || a.stream || ': [' || a.lo || ', ' || a.hi || ') and [' || b.lo || "
     "', ' || b.hi || ') overlap' FROM coverage a JOIN coverage b ON b.source = a.source "
     "AND b.stream = a.stream AND b.lo > a.lo AND b.lo < a.hi"},
    {"gaps", OF_BOTH,
     "SELECT 'gap ' || id || ' of ' || source || '/' || stream || ' reaches from ' || from_us || "
     "' to ' || to_us FROM gaps WHERE from_us >= to_us"},
    {"tombstones", OF_BOTH,
     "SELECT " POST_OF_KEY " || ' lives at rev ' || p.rev || ', was deleted at ' || t.rev "
     "FROM post p JOIN actors a ON a.id = p.actor JOIN tombstones t ON t.collection = 'posts' "
     "AND t.key = " POST_OF_KEY " WHERE t.rev >= p.rev"},
    {"post_links", OF_BOTH,
     "SELECT 'post ' || x.post_id || ' with link ' || x.link_id || ': one of them is not there' "
     "FROM post_links x LEFT JOIN post p ON p.n = x.post_id LEFT JOIN links l ON l.id = x.link_id "
     "WHERE p.n IS NULL OR l.id IS NULL"},
    {"shares", OF_BOTH,
     "SELECT 'link ' || s.link_id || ' shared by actor ' || s.actor || ' in ' || s.n_posts || "
     "' posts: one of them is not there' FROM share s LEFT JOIN links l ON l.id = s.link_id "
     "LEFT JOIN actors a ON a.id = s.actor WHERE l.id IS NULL OR a.id IS NULL OR s.n_posts < 1"},
    {"share_counts", OF_BOTH,
     "SELECT 'link ' || coalesce(s.link_id, c.link_id) || ', actor ' || coalesce(s.actor, c.actor) "
     "|| ': ' || coalesce(s.n_posts, 0) || ' posts are counted, ' || (coalesce(s.old_posts, 0) + "
     "coalesce(c.posts, 0)) || ' are known' FROM (SELECT link_id, actor FROM share UNION "
     "SELECT link_id, actor FROM post_links WHERE actor IS NOT NULL) k "
     "LEFT JOIN share s ON s.link_id = k.link_id AND s.actor = k.actor "
     "LEFT JOIN (SELECT link_id, actor, count(*) AS posts FROM post_links GROUP BY link_id, actor) "
     "c ON c.link_id = k.link_id AND c.actor = k.actor "
     "WHERE coalesce(s.n_posts, 0) <> coalesce(s.old_posts, 0) + coalesce(c.posts, 0)"},
    {"share_totals", OF_BOTH,
     "SELECT 'link ' || l.id || ' says ' || l.share_count_total || ' people shared it, ' || "
     "coalesce(c.people, 0) || ' did' FROM links l LEFT JOIN (SELECT link_id, count(*) AS people "
     "FROM share WHERE counted = 1 GROUP BY link_id) c ON c.link_id = l.id "
     "WHERE l.share_count_total <> coalesce(c.people, 0)"},
    {"standing", OF_BOTH,
     "SELECT 'actor ' || s.actor || CASE WHEN s.counted = 1 THEN ' counts' ELSE ' does not count' "
     "END || ' for link ' || s.link_id || ', its standing is ' || a.active FROM share s "
     "JOIN actors a ON a.id = s.actor WHERE s.counted <> a.active "
     "AND s.actor NOT IN (SELECT actor FROM standing)"},
    {"inherited", OF_BOTH,
     "SELECT 'post ' || x.n || ' should have link ' || x.link_id || ' of the post it passes on' "
     "FROM (SELECT d.n AS n, l.link_id AS link_id FROM post s JOIN actors a ON a.id = s.actor "
     "JOIN post d ON d.subject = 'at://' || " POST_OF_SUBJECT " JOIN post_links l "
     "ON l.post_id = s.n AND l.via = 'post' WHERE d.kind < 2 AND s.lent = 1) x "
     "LEFT JOIN post_links h ON h.post_id = x.n AND h.link_id = x.link_id "
     "WHERE h.link_id IS NULL UNION ALL "
     "SELECT 'post ' || d.n || ' has link ' || h.link_id || ' of a post without it' "
     "FROM post s JOIN actors a ON a.id = s.actor JOIN post d ON d.subject = 'at://' || "
     POST_OF_SUBJECT " JOIN post_links h ON h.post_id = d.n AND h.via <> 'post' "
     "LEFT JOIN post_links l ON l.post_id = s.n AND l.link_id = h.link_id AND l.via = 'post' "
     "WHERE l.link_id IS NULL OR s.lent = 0"},
    {"import_sessions", OF_BOTH,
     "SELECT 'session ' || s.id || ' says ' || s.imported || ' new and ' || s.skipped || "
     "' known rows, its streams ' || coalesce(sum(x.imported), 0) || ' and ' || "
     "coalesce(sum(x.skipped), 0) "
     "FROM import_sessions s LEFT JOIN session_streams x ON x.session_id = s.id "
     "GROUP BY s.id, s.imported, s.skipped HAVING s.imported <> coalesce(sum(x.imported), 0) "
     "OR s.skipped <> coalesce(sum(x.skipped), 0)"},
    {"jetstream_state", OF_BOTH,
     "SELECT 'jetstream_state is ' || coalesce(CAST(j.cursor_time_us AS TEXT), 'empty') || "
     "', the oldest cursor ' || coalesce(CAST(c.oldest AS TEXT), 'none') "
     "FROM (SELECT min(position) AS oldest FROM cursors WHERE source = 'jetstream') c "
     "LEFT JOIN jetstream_state j ON j.id = 1 "
     "WHERE coalesce(c.oldest, -1) <> coalesce(j.cursor_time_us, -1)"},
};
/* clang-format on */

static const char cursor_sql[] = "SELECT source, stream, state FROM cursors";

struct judging {
    struct verification_check *check;
    cursor_judge_fn *judge;
    void *judge_arg;
};

void verification_note(struct verification_check *check, struct bytes words)
{
    if (check->failures++ == 0)
        snprintf(check->first, sizeof check->first, "%.*s", (int)words.len, words.data);
}

bool verification_take(void *arg, const struct field *columns, size_t count)
{
    struct verification_check *check = arg;
    assert(count == 1 && check != NULL);
    bool is_text = !columns[0].null && columns[0].type == FIELD_TEXT;
    if (!is_text)
        verification_note(check, bytes_of("a row nobody can name"));
    else if (!bytes_equal_string(columns[0].b, "ok")) /* what SQLite says of a sound file */
        verification_note(check, columns[0].b);
    return true;
}

static bool judge_cursor(void *arg, const struct field *columns, size_t count)
{
    struct judging *judging = arg;
    struct err err;
    assert(count == 3 && judging->judge != NULL);
    if (judging->judge(judging->judge_arg, columns[2].b, &err) == RC_OK)
        return true;
    struct text words = {0};
    text_appendf(&words, "%.*s/%.*s: %s", (int)columns[0].b.len, columns[0].b.data,
                 (int)columns[1].b.len, columns[1].b.data, err.text);
    verification_note(judging->check, text_bytes(&words));
    text_free(&words);
    return true;
}

static struct verification_check *begin_check(struct verification *out, const char *name)
{
    assert(out->count < VERIFICATION_CHECKS_MAX && name != NULL);
    struct verification_check *check = &out->checks[out->count++];
    *check = (struct verification_check){.name = name};
    return check;
}

/* What the store cannot answer because it is damaged is a finding; a store that is away is not. */
static enum rc judge_answer(struct verification_check *check, enum rc rc, const struct err *err)
{
    if (rc == RC_OK || rc == RC_RETRY || rc == RC_AGAIN)
        return rc;
    verification_note(check, bytes_of(err->text));
    return RC_OK;
}

static enum rc run_checks(struct store *store, cursor_judge_fn *judge, void *judge_arg,
                          struct verification *out, struct err *err)
{
    assert(out->count == 0);
    struct verification_check *check = begin_check(out, "schema");
    enum rc rc = judge_answer(check, store_check_schema(store, err), err);
    for (size_t i = 0; rc == RC_OK && i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].only != OF_BOTH && rules[i].only != store->ops)
            continue;
        check = begin_check(out, rules[i].name);
        rc = judge_answer(
            check, store_query(store, rules[i].sql, NULL, 0, verification_take, check, err), err);
    }
    if (rc == RC_OK) {
        check = begin_check(out, "documents");
        rc = judge_answer(check, verification_rows(store, check, err), err);
    }
    if (rc != RC_OK)
        return rc;
    struct judging judging = {begin_check(out, "cursors"), judge, judge_arg};
    return judge_answer(judging.check,
                        store_query(store, cursor_sql, NULL, 0, judge_cursor, &judging, err), err);
}

enum rc verification_run(struct store *store, cursor_judge_fn *judge, void *judge_arg,
                         struct verification *out, struct err *err)
{
    assert(store != NULL && judge != NULL && out != NULL);
    *out = (struct verification){0};
    store->patient = true;
    enum rc rc = run_checks(store, judge, judge_arg, out, err);
    store->patient = false;
    return rc;
}

bool verification_is_good(const struct verification *verification)
{
    int64_t failures = 0;
    assert(verification->count > 0);
    for (size_t i = 0; i < verification->count; i++)
        failures += verification->checks[i].failures;
    return failures == 0;
}

void verification_print(const struct verification *verification, struct json_writer *writer)
{
    json_key(writer, "ok");
    json_put_bool(writer, verification_is_good(verification));
    json_key(writer, "checks");
    json_begin_array(writer);
    for (size_t i = 0; i < verification->count; i++) {
        const struct verification_check *check = &verification->checks[i];
        json_begin_object(writer);
        json_key(writer, "name");
        json_put_cstring(writer, check->name);
        json_key(writer, "failures");
        json_put_i64(writer, check->failures);
        json_key(writer, "first");
        json_put_cstring(writer, check->first[0] == '\0' ? NULL : check->first);
        json_end_object(writer);
    }
    json_end_array(writer);
}
