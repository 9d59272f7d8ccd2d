/* SPDX-License-Identifier: Apache-2.0
 *
 * notes.h - a table of notes that change, and what each was after every commit. */
#ifndef TESTS_NOTES_H
#define TESTS_NOTES_H

#include "chance.h"
#include "query/changes.h"
#include "query/tail.h"
#include "store_bench.h"

#define NOTES_IDS     40   /* of those whose history is known */
#define NOTES_MAX     4096 /* ids there may be */
#define NOTES_COMMITS 150

/* One table: of the first what left is told by tombstones, and of the second what rows were is
 * kept. */
extern const struct collection notes, kept_notes;

struct note {
    bool there;
    unsigned a;
    const char *b; /* SQL */
};

struct notes {
    struct bench *bench;
    const struct collection *collection;
    struct note now[NOTES_MAX];
    struct note then[NOTES_COMMITS + 10][NOTES_IDS]; /* after each commit */
    struct json_doc *doc;
    struct changes changes;
    struct refusal refusal;
    struct tail_marks marks;
    struct text script;
    int64_t seq, next_n;
    unsigned leaves;
    struct chance chance;
};

void notes_open(struct notes *world, struct bench *bench, const struct collection *collection);
void notes_close(struct notes *world);
/* Put and drop wait for the commit; `b` is SQL. */
void notes_put(struct notes *world, unsigned id, unsigned a, const char *b);
void notes_drop(struct notes *world, unsigned id);
void notes_commit(struct notes *world);
/* A commit of some of these, by chance. */
void notes_write_anything(struct notes *world);

#endif
