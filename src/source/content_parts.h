/* SPDX-License-Identifier: Apache-2.0
 *
 * content_parts.h - the content source and what its parts ask of each other; for them only.
 *
 * Blocks become units and needs; needs are checked, then fetched by jobs; what jobs hold, and what
 * that finishes, goes into one batch at a time. */
#ifndef SOURCE_CONTENT_PARTS_H
#define SOURCE_CONTENT_PARTS_H

#include "base/json.h"
#include "ingest/cursor.h"
#include "ingest/quarantine.h"
#include "source/content_work.h"
#include "source/delivery.h"

struct content {
    struct source_env env;
    struct gateways *gateways;
    struct content_settings settings;
    const struct content_events *events;
    void *arg;
    struct delivery delivery;
    const struct batch *sent; /* the last; only its address counts */
    struct json_doc *doc;
    struct text scratch;

    struct watermark watermark;
    struct unit *units; /* by ordinal, modulo the span */
    uint64_t first;     /* the block of ordinal 0 */
    bool begun;         /* a block was taken */
    uint64_t written;   /* units below it have their references in a batch */
    bool refused;       /* a block was, for want of room */

    struct need *needs;
    uint32_t *heads;
    uint64_t seed; /* strangers choose the names */
    struct waiter *waiters;
    uint32_t free_need, free_waiter;
    size_t free_needs, free_waiters;
    struct need_list checking, waiting, aside, echoes, hopeless;
    struct need_list done; /* their rows are in a batch */
    bool checking_now;
    uint32_t checked[LOOKUP_PARAMS_MAX];
    size_t checked_count;
    struct timer check_again;

    struct job *jobs;
    uint32_t running, held; /* fetches, and results that no batch has yet */
    uint32_t large;         /* of both */
    struct owed owed;
    bool loading;
    struct again again;
    struct reconciling *reconciling; /* NULL: nobody wants that now */
    struct timer wake, move, owe;    /* a retry is due; the position; a document has had its time */

    struct quarantine quarantine;
    struct unusable unusable;
    struct naming naming;
    size_t named_bytes; /* of the references of all units */

    struct cursor_state cursor;
    struct content_place committed, staged;
    struct content_search search;
    bool staging, undoing, undo_sent, starting, started, stopping;
    bool swept; /* nothing that a crash left above the position is in the store */
    struct content_place undo_to;
    uint64_t settled; /* empty blocks before it have left the store */
    int64_t cursor_due_us;
    uint64_t stored, failed;
};

static inline int64_t content_mono(const struct content *content)
{
    return content->env.runtime->ops->mono_us(content->env.runtime);
}

static inline int64_t content_wall(const struct content *content)
{
    return content->env.runtime->ops->wall_us(content->env.runtime);
}

static inline uint64_t content_random(const struct content *content)
{
    return content->env.runtime->ops->random(content->env.runtime);
}

/* As many results may wait for a batch as fetches run: gateways need not wait for the store. */
#define CONTENT_JOBS_PER_FETCH 2
#define CONTENT_JOBS_MAX       (CONTENT_JOBS_PER_FETCH * CONTENT_CONCURRENCY_MAX)
/* So many documents of more than CONTENT_LARGE bytes are in memory: strangers choose how large what
 * they name is, and how much of it. */
#define CONTENT_LARGE_MAX 4

static inline struct unit *content_unit(struct content *content, uint64_t ord)
{
    return &content->units[ord & (content->settings.span - 1)];
}

/* Does whatever can be done now, in all parts. */
void content_pump(struct content *content);
/* The references of the unit are in a batch, or not wanted any more. */
void content_forget_refs(struct content *content, struct unit *unit);
/* Drops the units above the place that is undone to. */
void content_rewind(struct content *content);

/* ---- needs: what is wanted ---- */
/* Reads an address and spells it in the one way; false: it is none, and stays as it is. */
bool content_spell(const char *uri, struct cid *cid, char canonical[CONTENT_URI_SIZE],
                   struct err *err);
void content_needs_init(struct content *content);
void content_needs_deinit(struct content *content);
/* One block's wish for a document; there is room, see content_needs_room(). */
void content_need(struct content *content, const struct content_ref *ref, uint64_t block,
                  const struct watermark_ticket *ticket);
bool content_needs_room(const struct content *content, size_t count);
/* Forgets the wishes of units at and above `ord`. */
void content_needs_forget(struct content *content, uint64_t ord);
/* The row of the need lies in the batch: whoever waits for it has it. */
void content_need_written(struct content *content, uint32_t index);
/* The batch was answered. */
void content_needs_answered(struct content *content);
void content_needs_check(struct content *content);
uint32_t content_list_take(struct content *content, struct need_list *list);
void content_list_put(struct content *content, struct need_list *list, uint32_t index);

/* ---- jobs: what is fetched ---- */
void content_jobs_pump(struct content *content);
void content_jobs_stop(struct content *content);
void content_job_free(struct job *job);

/* ---- what is wanted again ---- */
bool content_again_waits(const struct content *content);
void content_again_write(struct content *content, struct batch *batch);
void content_again_answered(struct content *content, enum rc rc);
void content_again_drop(struct content *content);

/* ---- what lacks ---- */
bool content_reconcile_waits(const struct content *content);
bool content_reconcile_reads(const struct content *content);
void content_reconcile_write(struct content *content, struct batch *batch);
void content_reconcile_answered(struct content *content, enum rc rc);
void content_reconcile_drop(struct content *content);

/* ---- what is written ---- */
/* The row of a document whose bytes are not there. */
must_check bool content_add_missing(struct batch *batch, const struct need *need);
void content_write(struct content *content);
void content_written(void *arg, enum rc rc);

#endif
