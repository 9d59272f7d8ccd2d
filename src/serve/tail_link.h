/* SPDX-License-Identifier: Apache-2.0
 *
 * tail_link.h - circles of those who follow.
 *
 * A circle is a link that is in itself; whatever embeds a link can be put into one circle, and
 * taken out of it without knowing which. */
#ifndef SERVE_TAIL_LINK_H
#define SERVE_TAIL_LINK_H

#include <assert.h>
#include <stddef.h>

struct tail_link {
    struct tail_link *before, *after; /* NULL: in none */
};

static inline void circle_init(struct tail_link *circle)
{
    circle->before = circle->after = circle;
}

/* As the last one. */
static inline void circle_put(struct tail_link *circle, struct tail_link *link)
{
    assert(link->after == NULL);
    link->before = circle->before;
    link->after = circle;
    link->before->after = link;
    circle->before = link;
}

static inline void circle_take(struct tail_link *link)
{
    assert(link->after != NULL);
    link->before->after = link->after;
    link->after->before = link->before;
    *link = (struct tail_link){0};
}

#endif
