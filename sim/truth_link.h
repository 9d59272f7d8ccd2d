/* SPDX-License-Identifier: Apache-2.0
 *
 * truth_link.h - what a perfect client would know about links: which post shares which, who shared
 * each how often, and what is popular.
 *
 * A post shares its own links and, while the post it quotes or repeats lives, the links of the last
 * version of that one. What a client cannot be expected to know exactly is marked fluid and listed
 * in all its possible forms: the subject belongs to somebody who is not active, or to somebody
 * outside of the scope who changed it, or whose status changed, since it was written.
 *
 * Every answer is lines of JSON: a summary, then the rows. */
#ifndef SIM_TRUTH_LINK_H
#define SIM_TRUTH_LINK_H

#include "sim/truth.h"

#define TRUTH_DEPTH_MAX 8u

struct truth_link_question {
    struct truth_scope scope;
    unsigned depth; /* 1: the subject's own links; more: also what the subject inherited */
    bool merged;    /* addresses as they are known once every page was fetched */
    /* trending only */
    const bool *people; /* who counts; NULL: all */
    int64_t since_us, until_us;
    uint64_t limit;
};

typedef void truth_link_fn(const struct world *world, const struct truth_link_question *question,
                           struct text *out);
truth_link_fn truth_links_write, truth_post_links_write, truth_shares_write, truth_trending_write;

#endif
