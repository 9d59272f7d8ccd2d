/* SPDX-License-Identifier: Apache-2.0
 *
 * trending.h - the links that people share now, best first, and why each stands where it does.
 *
 * A link's score is the weight of the people who shared it in the window, each once:
 *   shares     what each person weighs: one, or as configured, or less for who shares one site only
 *   velocity   the same, halved with every half-life that has passed since the person's last share
 *   recent     links in order of their last share
 * Muted accounts, sites and words, animations, pictures and the network's own pages are left out
 * before anything is ranked.
 *
 * How: links are walked by the number of people who ever shared them, which no score exceeds, until
 * nobody further down can come in. Equal scores stand in the order of the walk (more people ever,
 * then the newer link), so that the walk may end there and the answer is still exact.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_TRENDING_H
#define QUERY_TRENDING_H

#include "base/json_write.h"
#include "config.h"
#include "store/store.h"

#define TRENDING_LIMIT_MAX     100
#define TRENDING_HOURS_MAX     8760
#define TRENDING_Q_MAX         128
#define TRENDING_NAME_MAX      256
#define TRENDING_POSTS_MAX     5 /* that are told with a link */
#define TRENDING_WHY_MAX       320
#define TRENDING_ALL_POSTS_MAX 200     /* of one link that is asked for */
#define TRENDING_SHARERS_MAX   20      /* that are named with a link */
#define TRENDING_WALK_MAX      1000000 /* links looked at for one answer */
/* A share's age is taken in so many steps a half-life, and counts as the middle of its step. */
#define TRENDING_STEPS 16

enum trending_sort { TRENDING_SHARES, TRENDING_VELOCITY, TRENDING_RECENT };

struct trending_request {
    int64_t now_us;
    int64_t hours, limit, min_shares, degree;
    enum trending_sort sort;
    int64_t posts;                  /* of each link that are told, latest first */
    int64_t sharers;                /* of each link that are named, latest first */
    int64_t stories;                /* 1: articles of one story are told with its first */
    size_t walk_max;                /* links that are looked at */
    char q[TRENDING_Q_MAX];         /* "": all */
    char domain[TRENDING_NAME_MAX]; /* of this site only; "": of all */
    char author[TRENDING_NAME_MAX]; /* that this account, by DID or handle, shared; "": anybody */
};

struct trending_link {
    int64_t id, total;
    int64_t shares;           /* people in the window */
    int64_t damped, weighted; /* of them: who share one site only; by own weight */
    int64_t last_us;
    double score;
};

struct trending {
    struct trending_request request;
    struct trending_link links[TRENDING_LIMIT_MAX];
    size_t count;
    size_t walked;  /* links that were looked at */
    bool truncated; /* there are more, and one of those might have come in */
};

/* The documented defaults, at `now_us`. */
struct trending_request trending_request_default(int64_t now_us);
/* Ranks. RC_AGAIN: the store had no more time. RC_REJECT: nobody is known by the author's name. */
must_check enum rc trending_rank(struct store *store, const struct config *config,
                                 const struct trending_request *request, struct trending *out,
                                 struct err *err);
/* The whole answer, links with who shared them, and what is known to be missing, as one JSON object
 * and a line's end. */
must_check enum rc trending_print(struct store *store, const struct config *config,
                                  const struct trending_request *request, struct text *out,
                                  struct err *err);
/* A link and the posts that share it, latest first; RC_REJECT: there is no such link. */
must_check enum rc trending_print_posts(struct store *store, int64_t link, struct text *out,
                                        struct err *err);
/* Why a link has its score, in a sentence. */
void trending_explain(const struct trending *trending, const struct trending_link *link,
                      const struct config *config, char out[TRENDING_WHY_MAX]);

#endif
