/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories in random commits, on both stores, against a model that counts from scratch. */
#include "chance.h"
#include "news_bench.h"
#include "news_model.h"
#include "store/verification.h"

#include <stdlib.h>
#include <string.h>

#define ACTS        100000
#define LOOK_EVERY  20
#define VERSIONS    8    /* that are about at a time; even ones are put, odd ones deleted */
#define VERSION_AGE 2000 /* acts until the oldest of them is history */

static void name_key(int key, char did[24], char rkey[16])
{
    snprintf(did, 24, "did:plc:%02d", model_actor(key));
    snprintf(rkey, 16, "%02d", key);
}

static void name_rev(int rev, char out[16])
{
    out[0] = '\0';
    if (rev != MODEL_EMPTY_REV)
        snprintf(out, 16, "r%04d", rev);
}

static void name_url(int url, char out[40])
{
    snprintf(out, 40, "https://e.example/%d", url);
}

static void add_put(struct bench *bench, const struct model_act *act)
{
    struct model_content content = model_content(act->key, act->version);
    char did[24], rkey[16], rev[16], cid[16], subject_did[24], subject_rkey[16], url[40];
    name_key(act->key, did, rkey);
    name_rev(act->rev, rev);
    snprintf(cid, sizeof cid, "v%04d", act->version);
    struct news_post post = {.did = did,
                             .rkey = rkey,
                             .rev = act->rev == MODEL_NO_REV ? NULL : rev,
                             .kind = act->op == MODEL_SUBJECT ? 2 : content.kind,
                             .op = act->op == MODEL_DELETE ? POST_OP_DELETE : POST_OP_PUT,
                             .shared_us = act->at_us,
                             .asof = act->asof,
                             .cid = cid};
    if (act->op == MODEL_DELETE)
        post.kind = content.kind;
    if (act->op != MODEL_DELETE && content.subject >= 0) {
        name_key(content.subject, subject_did, subject_rkey);
        post.subject_did = subject_did;
        post.subject_rkey = subject_rkey;
    }
    news_add_post(bench, post);
    for (int i = 0; act->op != MODEL_DELETE && i < MODEL_URLS; i++) {
        name_url(i, url);
        if (content.urls >> i & 1)
            news_add_link(bench, post, url, i % 2 ? "title" : NULL);
    }
}

static void add_act(struct bench *bench, const struct model_act *act)
{
    char did[24], url[40], same_as[40];
    if (act->op <= MODEL_DELETE) {
        add_put(bench, act);
    } else if (act->op == MODEL_ACCOUNT) {
        snprintf(did, sizeof did, "did:plc:%02d", act->actor);
        news_add_account(bench, did, act->at_us, act->active);
    } else {
        name_url(act->url, url);
        name_url(act->same_as, same_as);
        news_add_card(bench, url, act->at_us, "page", act->same_as < 0 ? NULL : same_as);
    }
}

/* What happens next; `fed` marks the records that a feed has shown in this commit. */
static struct model_act invent(struct chance *chance, const struct news_model *model, bool *fed,
                               int64_t now_us)
{
    uint32_t dice = chance_below(chance, 1000);
    struct model_act act = {.key = (int)chance_below(chance, MODEL_KEYS),
                            .at_us = now_us - (int64_t)chance_below(chance, 50)};
    int version = 2 * (int)(1 + now_us / VERSION_AGE + chance_below(chance, VERSIONS));
    act.version = act.rev = version;
    bool post = act.key < MODEL_ACTORS * MODEL_POSTS;
    if (dice < 15) {
        act.op = MODEL_ACCOUNT;
        act.actor = (int)chance_below(chance, MODEL_ACTORS);
        act.active = chance_below(chance, 3) > 0;
    } else if (dice < 18 && chance_below(chance, 100) == 0) {
        act.op = MODEL_CARD;
        act.url = (int)chance_below(chance, MODEL_URLS);
        act.same_as = (int)chance_below(chance, MODEL_URLS + 1) - 1;
    } else if (dice < 250) {
        act.op = MODEL_DELETE;
        act.rev = version - 1;
        if (chance_below(chance, 4) == 0) /* found missing by a sweep */
            act.rev = model->posts[act.key].rev > 0 ? model->posts[act.key].rev : MODEL_EMPTY_REV;
    } else if (dice < 500 && !fed[act.key]) {
        act.op = post && dice < 350 ? MODEL_SUBJECT : MODEL_PUT;
        act.rev = MODEL_NO_REV;
        act.asof = model->seq - (int64_t)chance_below(chance, 4);
        fed[act.key] = true;
    }
    return act;
}

static bool append_line(void *arg, const struct field *columns, size_t count)
{
    text_append(arg, columns[0].b.data, columns[0].b.len);
    text_append_char(arg, '\n');
    return count == 1;
}

#define URL_NUMBER "substr(k.normalized_url, 19)"
#define ACTOR      "substr(a.did, 9)"

static void print_store(struct bench *bench, struct text *out)
{
    static const char sql[] =
        "SELECT line FROM (SELECT '1 post ' || p.rkey || ' ' || p.kind || ' ' || p.cid || ' ' || "
        "coalesce(p.rev, 'none') || ' ' || p.shared_us AS line FROM post p UNION ALL "
        "SELECT '2 link ' || p.rkey || ' ' || " URL_NUMBER " || ' ' || l.via "
        "FROM post_links l JOIN post p ON p.n = l.post_id JOIN links k ON k.id = l.link_id "
        "UNION ALL SELECT '3 share ' || " URL_NUMBER " || ' ' || " ACTOR " || ' ' || s.n_posts "
        "|| ' ' || s.last_us FROM shares s JOIN links k ON k.id = s.link_id "
        "JOIN actors a ON a.id = s.actor UNION ALL "
        "SELECT '4 total ' || " URL_NUMBER " || ' ' || k.share_count_total || ' ' || "
        "coalesce(k.first_shared_us, -1) || ' ' || coalesce(k.last_shared_us, -1) "
        "FROM links k) x ORDER BY CAST(line AS TEXT)";
    const char *text = sql;
    struct text collated = {0};
    if (both_stores_kind == FIXTURE_POSTGRES) {
        text_appendf(&collated, "%s COLLATE \"C\"", sql);
        text = text_string(&collated);
    }
    text_clear(out);
    assert_ok(store_query(bench->store, text, NULL, 0, append_line, out, &bench->err));
    text_free(&collated);
}

static void compare(struct bench *bench, const struct news_model *model, size_t acts)
{
    struct text wanted = {0}, got = {0};
    model_print(model, &wanted);
    print_store(bench, &got);
    if (!bytes_equal(text_bytes(&wanted), text_bytes(&got))) {
        size_t at = 0;
        while (at < wanted.len && at < got.len && wanted.data[at] == got.data[at])
            at++;
        while (at > 0 && wanted.data[at - 1] != '\n')
            at--;
        fail_msg("after %zu acts the model says\n%.200s\nand the store\n%.200s", acts,
                 text_string(&wanted) + at, text_string(&got) + at);
    }
    text_free(&wanted);
    text_free(&got);
    assert_int_equal(number(bench, "SELECT count(*) FROM standing"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM touched_posts"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM touched_shares"), 0);
}

static enum rc accept(void *arg, struct bytes cursor, struct err *err)
{
    (void)arg, (void)cursor, (void)err;
    return RC_OK;
}

static void verify(struct bench *bench)
{
    struct verification verification;
    assert_ok(verification_run(bench->store, accept, NULL, &verification, &bench->err));
    for (size_t i = 0; i < verification.count; i++)
        assert_string_equal(verification.checks[i].first, "");
}

static void any_history_in_any_commits_ends_as_if_counted_from_scratch(void **state)
{
    struct bench *bench = *state;
    static struct news_model model;
    struct chance chance = chance_init("news_model");
    struct model_act acts[MODEL_OPS_MAX];
    size_t done = 0, commits = 0;
    model_init(&model);
    model.seq = bench->position.commit_seq;
    while (done < ACTS) {
        bool fed[MODEL_KEYS] = {false};
        size_t count = 1 + chance_below(&chance, chance_below(&chance, 4) ? MODEL_OPS_MAX : 3);
        for (size_t i = 0; i < count; i++) {
            acts[i] = invent(&chance, &model, fed, 1000 + (int64_t)(done + i));
            add_act(bench, &acts[i]);
        }
        assert_ok(write_batch(bench));
        model_apply(&model, acts, count);
        done += count;
        if (commits++ % LOOK_EVERY == 0 || done >= ACTS)
            compare(bench, &model, done);
    }
    verify(bench);
    printf("news_model: acts=%zu commits=%zu posts=%lld shares=%lld\n", done, commits,
           (long long)number(bench, "SELECT count(*) FROM post"),
           (long long)number(bench, "SELECT count(*) FROM shares"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(any_history_in_any_commits_ends_as_if_counted_from_scratch),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
