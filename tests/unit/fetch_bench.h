/* SPDX-License-Identifier: Apache-2.0
 *
 * fetch_bench.h - documents fetched from three gateways whose answers the test gives. Requests are
 * found by the gateway and the address they name; the blocks come from the simulator's maker. */
#ifndef TESTS_UNIT_FETCH_BENCH_H
#define TESTS_UNIT_FETCH_BENCH_H

#include "http_desk.h"
#include "sim/ipfs_blocks.h"
#include "source/content_fetch.h"

#define BENCH_DOCUMENT_MAX 5000

struct bench {
    struct http_desk desk;
    struct gateways *gateways; /* a.example, b.example:8080, c.example */
    struct ipfs_blocks blocks;
    struct content_fetch fetch;
    unsigned ended;
    enum rc rc;
    struct text content;
    char said[1024]; /* the failures or the refusal, each with its class */
};

int fetch_bench_set_up(void **state);
int fetch_bench_tear_down(void **state);
/* A content_fetch_fn; `arg` is the bench. */
void fetch_bench_outcome(void *arg, const struct content_outcome *outcome);
struct cid fetch_bench_cid(const struct bench *b, size_t block);
/* Begins to fetch what lies behind a path; `without` as with gateways_get(). */
void fetch_bench_begin_path(struct bench *b, size_t block, const char *path, uint32_t without);
void fetch_bench_begin(struct bench *b, size_t block, uint32_t without);
/* The open request of this gateway for this block, or -1. */
int fetch_bench_find(const struct bench *b, const char *gateway, size_t block);
void fetch_bench_give(struct bench *b, const char *gateway, size_t block);
void fetch_bench_refuse(struct bench *b, const char *gateway, size_t block, int status);
unsigned fetch_bench_open_requests(const struct bench *b);
const struct provider *fetch_bench_provider(const struct bench *b, const char *name);

#endif
