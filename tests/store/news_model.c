/* SPDX-License-Identifier: Apache-2.0 */
#include "news_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIA_NONE   0
#define VIA_POST   1
#define VIA_QUOTE  2
#define VIA_REPOST 3

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int model_actor(int key)
{
    return key % MODEL_ACTORS;
}

static bool is_repost(int key)
{
    return key / MODEL_ACTORS >= MODEL_POSTS;
}

struct model_content model_content(int key, int version)
{
    uint64_t chance = mix((uint64_t)key * 1000 + (uint64_t)version);
    int subject = (int)(chance % (MODEL_ACTORS * MODEL_POSTS));
    if (is_repost(key))
        return (struct model_content){.kind = 1, .subject = subject};
    bool quotes = chance >> 32 & 1 && subject != key;
    unsigned urls = (unsigned)mix(chance) & (unsigned)mix(chance + 1) & (unsigned)mix(chance + 2) &
                    ((1U << MODEL_URLS) - 1);
    return (struct model_content){.subject = quotes ? subject : -1, .urls = urls};
}

void model_init(struct news_model *model)
{
    *model = (struct news_model){0};
    for (int i = 0; i < MODEL_KEYS; i++)
        model->tombstones[i] = -1;
    for (int i = 0; i < MODEL_ACTORS; i++)
        model->active[i] = true;
    for (int i = 0; i < MODEL_URLS; i++) {
        model->alias[i] = i;
        model->first_us[i] = model->last_us[i] = -1;
    }
}

/* Of all that one commit says of one record, the delete and the put that stand; -1: none. A put
 * ends at a delete that is not older, a delete has no effect on a newer put, and of puts the higher
 * rev stands with the earliest time that it took over. */
struct folded {
    struct model_act delete, put;
    bool has_delete, has_put;
};

static void fold_one(struct folded *folded, const struct model_act *act)
{
    if (act->op == MODEL_DELETE) {
        if (folded->has_put && folded->put.rev > act->rev)
            return;
        folded->has_put = false;
        if (!folded->has_delete || act->rev > folded->delete.rev)
            folded->delete = *act;
        folded->has_delete = true;
        return;
    }
    if (folded->has_delete && act->rev != MODEL_NO_REV && act->rev <= folded->delete.rev)
        return;
    if (folded->has_put && folded->put.rev != MODEL_NO_REV && act->rev <= folded->put.rev) {
        bool late = act->rev != MODEL_NO_REV;
        if (late && act->at_us < folded->put.at_us)
            folded->put.at_us = act->at_us;
        return;
    }
    int64_t at_us =
        folded->has_put && folded->put.at_us < act->at_us ? folded->put.at_us : act->at_us;
    folded->put = *act;
    folded->put.at_us = at_us;
    folded->has_put = true;
}

static bool accepts(const struct news_model *model, const struct model_act *act)
{
    const struct model_post *post = &model->posts[act->key];
    int tombstone = model->tombstones[act->key];
    bool feed = act->rev == MODEL_NO_REV;
    bool recreated = post->stored && post->rev > tombstone;
    if (tombstone >= 0 && (feed ? !recreated : tombstone >= act->rev))
        return false;
    if (!post->stored)
        return true;
    if (!feed)
        return post->rev == MODEL_NO_REV || act->rev > post->rev;
    if (act->op == MODEL_PUT && post->kind == 2)
        return true;
    if (act->op == MODEL_SUBJECT && post->kind != 2)
        return false;
    return act->version != post->version && (post->rev == MODEL_NO_REV || post->seq <= act->asof);
}

/* An older version that comes late is not stored, but tells when the post was first seen. */
static void witness(struct news_model *model, const struct model_act *act)
{
    struct model_post *post = &model->posts[act->key];
    if (post->stored && act->rev != MODEL_NO_REV && act->rev <= post->rev &&
        act->rev > model->tombstones[act->key] && act->at_us < post->shared_us)
        post->shared_us = act->at_us;
}

static void put(struct news_model *model, const struct model_act *act)
{
    struct model_post *post = &model->posts[act->key];
    struct model_content content = model_content(act->key, act->version);
    if (!accepts(model, act)) {
        witness(model, act);
        return;
    }
    int64_t shared_us = post->stored && post->shared_us < act->at_us ? post->shared_us : act->at_us;
    int rev = act->rev == MODEL_NO_REV && post->stored ? post->rev : act->rev;
    *post = (struct model_post){.stored = true,
                                .feed = act->rev == MODEL_NO_REV,
                                .kind = act->op == MODEL_SUBJECT ? 2 : content.kind,
                                .version = act->version,
                                .rev = rev,
                                .seq = model->seq,
                                .shared_us = shared_us};
    for (int url = 0; url < MODEL_URLS; url++)
        if (content.urls >> url & 1 && model->alias[url] == url)
            model->links[url] = true;
}

static void delete (struct news_model *model, const struct model_act *act)
{
    struct model_post *post = &model->posts[act->key];
    if (post->stored && post->rev > act->rev)
        return;
    post->stored = false;
    if (act->rev > model->tombstones[act->key])
        model->tombstones[act->key] = act->rev;
}

static int resolve(const struct news_model *model, int url)
{
    while (model->alias[url] != url)
        url = model->alias[url];
    return url;
}

/* Of several cards of one address in a commit the latest stands, the later among equals. */
static bool is_latest(const struct model_act *acts, size_t count, size_t which)
{
    for (size_t i = 0; i < count; i++)
        if (i != which && acts[i].op == MODEL_CARD && acts[i].url == acts[which].url &&
            (acts[i].at_us > acts[which].at_us ||
             (i > which && acts[i].at_us == acts[which].at_us)))
            return false;
    return true;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void merge(struct news_model *model, const struct model_act *acts, size_t count)
{
    bool named[MODEL_URLS] = {false};
    for (size_t i = 0; i < count; i++)
        if (acts[i].op == MODEL_CARD && acts[i].same_as >= 0 && is_latest(acts, count, i) &&
            model->links[resolve(model, acts[i].url)] &&
            model->alias[acts[i].same_as] == acts[i].same_as)
            named[acts[i].same_as] = true;
    for (int url = 0; url < MODEL_URLS; url++)
        model->links[url] = model->links[url] || named[url];
    for (size_t i = 0; i < count; i++) {
        if (acts[i].op != MODEL_CARD || acts[i].same_as < 0 || !is_latest(acts, count, i))
            continue;
        int from = resolve(model, acts[i].url), to = resolve(model, acts[i].same_as);
        if (from == to || !model->links[from] || !model->links[to])
            continue;
        model->alias[from] = to;
        model->links[from] = false;
        model->first_us[to] = earlier(model->first_us[to], model->first_us[from]);
    }
}

/* How a post has each link: one of VIA_. */
static void find_links(const struct news_model *model, int key, int via[MODEL_URLS])
{
    const struct model_post *post = &model->posts[key];
    struct model_content content = model_content(key, post->version);
    memset(via, 0, MODEL_URLS * sizeof *via);
    const struct model_post *subject = content.subject < 0 ? NULL : &model->posts[content.subject];
    if (subject != NULL && subject->stored && post->kind < 2 &&
        model->active[model_actor(content.subject)]) {
        unsigned urls = model_content(content.subject, subject->version).urls;
        for (int url = 0; url < MODEL_URLS; url++)
            if (urls >> url & 1)
                via[resolve(model, url)] = post->kind == 1 ? VIA_REPOST : VIA_QUOTE;
    }
    for (int url = 0; url < MODEL_URLS; url++)
        if (content.urls >> url & 1)
            via[resolve(model, url)] = VIA_POST;
}

static void note_times(struct news_model *model)
{
    int64_t last[MODEL_URLS];
    int via[MODEL_URLS];
    memset(last, -1, sizeof last);
    for (int key = 0; key < MODEL_KEYS; key++) {
        const struct model_post *post = &model->posts[key];
        if (!post->stored || post->kind == 2)
            continue;
        find_links(model, key, via);
        for (int url = 0; url < MODEL_URLS; url++) {
            if (via[url] == VIA_NONE)
                continue;
            model->first_us[url] = earlier(model->first_us[url], post->shared_us);
            last[url] = post->shared_us > last[url] ? post->shared_us : last[url];
        }
    }
    for (int url = 0; url < MODEL_URLS; url++)
        if (last[url] >= 0)
            model->last_us[url] = last[url];
}

/* The latest of a commit stands, the later among equals; never one older than what is known. */
static void judge_account(struct news_model *model, const struct model_act *acts, size_t count,
                          int actor)
{
    const struct model_act *latest = NULL;
    for (size_t i = 0; i < count; i++)
        if (acts[i].op == MODEL_ACCOUNT && acts[i].actor == actor &&
            (latest == NULL || acts[i].at_us >= latest->at_us))
            latest = &acts[i];
    if (latest == NULL || latest->at_us < model->status_us[actor])
        return;
    model->active[actor] = latest->active;
    model->status_us[actor] = latest->at_us;
}

void model_apply(struct news_model *model, const struct model_act *acts, size_t count)
{
    model->seq++;
    for (int actor = 0; actor < MODEL_ACTORS; actor++)
        judge_account(model, acts, count, actor);
    for (int key = 0; key < MODEL_KEYS; key++) {
        struct folded folded = {0};
        for (size_t i = 0; i < count; i++)
            if (acts[i].op <= MODEL_DELETE && acts[i].key == key)
                fold_one(&folded, &acts[i]);
        if (folded.has_delete)
            delete (model, &folded.delete);
        if (folded.has_put)
            put(model, &folded.put);
    }
    merge(model, acts, count);
    note_times(model);
}

/* ---- printing ---- */

struct lines {
    char text[4096][96];
    size_t count;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static const char *rev_name(int rev)
{
    static char name[16];
    if (rev == MODEL_NO_REV)
        return "none";
    if (rev == MODEL_EMPTY_REV)
        return "";
    snprintf(name, sizeof name, "r%04d", rev);
    return name;
}

static void print_shares(const struct news_model *model, struct lines *lines)
{
    static int64_t n_posts[MODEL_URLS][MODEL_ACTORS], last_us[MODEL_URLS][MODEL_ACTORS];
    int via[MODEL_URLS];
    memset(n_posts, 0, sizeof n_posts);
    memset(last_us, 0, sizeof last_us);
    for (int key = 0; key < MODEL_KEYS; key++) {
        const struct model_post *post = &model->posts[key];
        int actor = model_actor(key);
        if (!post->stored)
            continue;
        find_links(model, key, via);
        for (int url = 0; url < MODEL_URLS; url++) {
            static const char *const names[] = {"", "post", "quote", "repost"};
            if (via[url] == VIA_NONE)
                continue;
            snprintf(lines->text[lines->count++], 96, "2 link %02d %d %s", key, url,
                     names[via[url]]);
            if (post->kind == 2)
                continue;
            n_posts[url][actor]++;
            if (post->shared_us > last_us[url][actor])
                last_us[url][actor] = post->shared_us;
        }
    }
    for (int url = 0; url < MODEL_URLS; url++) {
        int total = 0;
        for (int actor = 0; actor < MODEL_ACTORS; actor++) {
            if (n_posts[url][actor] == 0)
                continue;
            total += model->active[actor];
            snprintf(lines->text[lines->count++], 96, "3 share %d %02d %" PRId64 " %" PRId64, url,
                     actor, n_posts[url][actor], last_us[url][actor]);
        }
        if (model->links[url])
            snprintf(lines->text[lines->count++], 96, "4 total %d %d %" PRId64 " %" PRId64, url,
                     total, model->first_us[url], model->last_us[url]);
    }
}

void model_print(const struct news_model *model, struct text *out)
{
    static struct lines lines;
    lines.count = 0;
    for (int key = 0; key < MODEL_KEYS; key++) {
        const struct model_post *post = &model->posts[key];
        if (post->stored)
            snprintf(lines.text[lines.count++], 96, "1 post %02d %d v%04d %s %" PRId64, key,
                     post->kind, post->version, rev_name(post->rev), post->shared_us);
    }
    print_shares(model, &lines);
    qsort(lines.text, lines.count, sizeof lines.text[0], compare_lines);
    text_clear(out);
    for (size_t i = 0; i < lines.count; i++)
        text_appendf(out, "%s\n", lines.text[i]);
}
