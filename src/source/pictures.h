/* SPDX-License-Identifier: Apache-2.0
 *
 * pictures.h - the pictures of links and people, fetched when somebody looks at them.
 *
 * Addresses were named by strangers: they are asked as such, at a pace per host, each redirect
 * checked anew. A picture costs at most 10 s and PICTURE_BYTES_MAX; only pictures of pixels are
 * taken. Whatever becomes of it is stored, so that one that cannot be had is not asked for again
 * and again.
 *
 *   free -want-> WAITING (for its host's turn) -> QUEUED (for a place) -> ASKING
 *     ^--------------------- STORING <- FETCHED (for a batch) <-------------'
 *
 * Always holds: places are bounded, and so are those that have bytes in hand (I6). Who finds no
 * place is turned away; they ask again when they look again.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_PICTURES_H
#define SOURCE_PICTURES_H

#include "source/source.h"

#define PICTURE_BYTES_MAX ((size_t)1 << 20)
/* A batch with the largest one. */
#define PICTURE_BATCH_BYTES (PICTURE_BYTES_MAX + ((size_t)64 << 10))

struct pictures_settings {
    bool enabled;
    int64_t keep_bytes; /* of all pictures in the store */
    const char *cdn;    /* where Bluesky's pictures lie; copied */
};

struct pictures_counts {
    uint64_t fetched, failed, turned_away;
    size_t under_way;
};

struct pictures;

/* Batches of the pool have room for PICTURE_BATCH_BYTES. */
struct pictures *pictures_new(const struct source_env *env,
                              const struct pictures_settings *settings);
/* Everything under way was answered or forgotten. */
void pictures_free(struct pictures *pictures);
void pictures_tune(struct pictures *pictures, const struct pictures_settings *settings);
/* Somebody wants to see the picture of that name. `link`: with which it goes; 0: with none. */
void pictures_want(struct pictures *pictures, struct bytes name, int64_t link, struct bytes url);
/* While the network is there still. */
void pictures_stop(struct pictures *pictures);
bool pictures_stopped(const struct pictures *pictures);
struct pictures_counts pictures_counts(const struct pictures *pictures);

#endif
