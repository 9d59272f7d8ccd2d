/* SPDX-License-Identifier: Apache-2.0
 *
 * news_model.h - what the store should hold of the news, worked out anew from scratch each time.
 *
 * A small world: a few accounts, each with the same few record keys, a few addresses. What a
 * version of a record says is a function of its key and the version, as it is in a repository. */
#ifndef TESTS_NEWS_MODEL_H
#define TESTS_NEWS_MODEL_H

#include "base/bytes.h"

#define MODEL_ACTORS    12
#define MODEL_POSTS     4 /* record keys of posts, then of reposts, of each account */
#define MODEL_REPOSTS   3
#define MODEL_KEYS      (MODEL_ACTORS * (MODEL_POSTS + MODEL_REPOSTS))
#define MODEL_URLS      20
#define MODEL_OPS_MAX   120
#define MODEL_NO_REV    (-1) /* as a feed shows it */
#define MODEL_EMPTY_REV 0    /* a sweep's delete of a row that has none */

enum model_op { MODEL_PUT, MODEL_SUBJECT, MODEL_DELETE, MODEL_ACCOUNT, MODEL_CARD };

struct model_act {
    enum model_op op;
    int key;             /* of a put or delete */
    int version;         /* what is put; even */
    int rev;             /* as the record has it */
    int64_t at_us, asof; /* shared, changed or fetched then */
    int actor, active;   /* of an account */
    int url, same_as;    /* of a card; -1: of no other address */
};

/* What version `version` of a record says. */
struct model_content {
    int kind, subject; /* -1: none */
    unsigned urls;     /* a bit each */
};
struct model_content model_content(int key, int version);

struct model_post {
    bool stored, feed;
    int kind, version, rev;
    int64_t seq, shared_us;
};

struct news_model {
    struct model_post posts[MODEL_KEYS];
    int tombstones[MODEL_KEYS]; /* the rev; -1: none */
    bool active[MODEL_ACTORS];
    int64_t status_us[MODEL_ACTORS];
    bool links[MODEL_URLS];
    int alias[MODEL_URLS]; /* itself: none */
    int64_t first_us[MODEL_URLS], last_us[MODEL_URLS];
    int64_t seq;
};

void model_init(struct news_model *model);
int model_actor(int key);
/* The acts of one commit, in their order. */
void model_apply(struct news_model *model, const struct model_act *acts, size_t count);
/* Every post, link of a post, share and link, a line each, sorted. */
void model_print(const struct news_model *model, struct text *out);

#endif
