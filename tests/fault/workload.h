/* SPDX-License-Identifier: Apache-2.0
 *
 * workload.h - commits whose outcome is known after each of them.
 *
 * Commit k writes every kind of record: puts, edits and deletes of posts, quarantine, owed work,
 * gaps, coverage with holes that later commits fill, accounts, identities, providers and two
 * cursors; one of them also brings rows that the database refuses. What the store must hold after k
 * commits is therefore one text per k: a store whose position is k and whose text is another one
 * has torn a commit. The text leaves out only what belongs to the process (epoch, lease) and the
 * wall time.
 *
 * Thread: any, one per workload. */
#ifndef TESTS_FAULT_WORKLOAD_H
#define TESTS_FAULT_WORKLOAD_H

#include "base/digest.h"
#include "store/commit.h"
#include "store/store.h"

#define WORKLOAD_COMMITS_MAX 400
#define WORKLOAD_REFUSED_AT  4 /* the commit that brings rows the database refuses */

struct workload {
    int64_t commits; /* how many there are */
    char expected[WORKLOAD_COMMITS_MAX + 1][DIGEST_HEX_SIZE];
};

/* A batch with room for a commit of the workload. */
void workload_batch_init(struct batch *batch);
void workload_batch_deinit(struct batch *batch);
/* Empties `batch` and fills it with commit k. */
void workload_fill(struct batch *batch, int64_t k);
/* Writes commits from the position on up to `last`, as a writer would without trouble; stops at the
 * first that fails. */
enum rc workload_write(struct store *store, struct store_position *position, int64_t last,
                       struct err *err);
/* Appends everything the store holds that must not depend on what happened on the way. */
enum rc workload_dump(struct store *store, struct text *out, struct err *err);
enum rc workload_digest(struct store *store, char out[DIGEST_HEX_SIZE], struct err *err);
/* Runs the workload on a fresh store and remembers the text after each commit. Aborts with a
 * sentence when even that fails, or when the texts do not say what they must. */
void workload_learn(struct workload *workload, const char *url, int64_t commits);
/* Opens `url` for reading and compares; -1 when what it holds is no prefix of the workload, with
 * the reason on standard error. Else how many commits it holds. */
int64_t workload_check(const struct workload *workload, const char *url);
/* Opens for writing, claims and writes what is missing; false with the reason on standard error. */
bool workload_finish(const struct workload *workload, const char *url);

#endif
