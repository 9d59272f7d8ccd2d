/* SPDX-License-Identifier: Apache-2.0
 *
 * fold.h - of several records with one identity in one commit, which stands for all.
 *
 * The outcome is the one that writing them in separate commits would have given: the higher version
 * wins, the later among equals, and a time that is kept at its earliest stays so.
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
/* Marks `record`, or the one met before with the same identity, as folded. */
void fold_record(struct fold *fold, struct record *record);

#endif
