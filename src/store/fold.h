/* SPDX-License-Identifier: Apache-2.0
 *
 * fold.h - of several records with one identity in one commit, which stand for all.
 *
 * The outcome is the one that writing them in separate commits would have given, when they come in
 * the order of their versions, any stretch of it again: the higher version wins, and a time that is
 * kept at its earliest stays so. What was deleted and made anew is two records, the delete and what
 * was made, since nothing of the old one may live on.
 *
 * Only what nobody could see in between differs: what came and went within the commit never had an
 * ingest number, and the count of a repeated row counts commits.
 *
 * Owner: a commit being laid out.  Allocates once. */
#ifndef STORE_FOLD_H
#define STORE_FOLD_H

#include "record.h"

struct fold {
    struct record **slots;
    size_t mask;
};

void fold_init(struct fold *fold);
void fold_deinit(struct fold *fold);
/* Marks `record`, or those met before with the same identity, as folded where they do not count. */
void fold_record(struct fold *fold, struct record *record);

#endif
