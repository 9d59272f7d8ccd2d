/* SPDX-License-Identifier: Apache-2.0
 *
 * news_question.h - what somebody wants to see of what is shared, as an address says it.
 *
 * An address holds all of it, and of one view there is one address: parts that are as usual are
 * left out and the others stand in a fixed order. What is asked in an empty part of a form is not
 * asked.
 *
 * Owner: the caller.  Thread: the serving loop. */
#ifndef SERVE_NEWS_QUESTION_H
#define SERVE_NEWS_QUESTION_H

#include "query/refusal.h"
#include "query/trending.h"

struct request;

#define NEWS_ONLY_UNREAD 1u
#define NEWS_ONLY_NEW    2u /* since the reader's last visit */

struct news_question {
    struct trending_request links;
    bool dense;    /* as many links as fit on a screen */
    unsigned only; /* NEWS_ONLY_...: what the browser shows, which knows its reader; 0: all */
    bool pictures; /* links are shown with theirs; no part of an address */
};

/* What is seen when nothing is asked. */
struct news_question news_question_usual(int64_t now_us);
/* Takes one parameter of an address, decoded; `value` NULL: it has none. The first that is none is
 * kept in `refusal`, whose code is REFUSAL_NONE before. */
void news_question_take(struct news_question *question, const char *name, const char *value,
                        struct refusal *refusal);
/* Takes what the address of the request says; RC_REJECT: a parameter is none, and `refusal` says
 * which. */
must_check enum rc news_question_read(struct request *request, struct news_question *question,
                                      struct refusal *refusal);
/* The same for what people open and pass on: on its way an address is given parameters that are
 * nobody's here, and those tell nothing. */
must_check enum rc news_question_read_page(struct request *request, struct news_question *question,
                                           struct refusal *refusal);
/* Appends the address of this view below `path`. */
void news_question_print(const struct news_question *question, const char *path, struct text *out);
/* As it stands in an address: "shares", "velocity", "recent". */
const char *news_sort_name(enum trending_sort sort);
/* "unread", "new", "unread-new". */
const char *news_only_name(unsigned only);

#endif
