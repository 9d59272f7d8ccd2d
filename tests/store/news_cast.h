/* SPDX-License-Identifier: Apache-2.0
 *
 * news_cast.h - who shares what in tests of single rows: three people, two pages, one post. */
#ifndef TESTS_NEWS_CAST_H
#define TESTS_NEWS_CAST_H

#include "news_bench.h"

#define A   "did:plc:a"
#define B   "did:plc:b"
#define C   "did:plc:c"
#define URL "https://e.example/1"
#define TWO "https://e.example/2"

#define TOTAL "SELECT share_count_total FROM links WHERE normalized_url = '" URL "'"

static const struct news_post by_a = {.did = A, .rkey = "1", .rev = "r1", .shared_us = 100};

#endif
