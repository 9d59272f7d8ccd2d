/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/coding.h"

#define ZLIB_CONST /* then its input is */
#include <zlib.h>
#include <zstd.h>

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#define GZIP_LEVEL  4
#define GZIP_WINDOW (15 + 16) /* the largest, in gzip's wrapping */
#define GZIP_MEMORY 8
#define ZSTD_LEVEL  3

/* The better one last. */
static const char *const names[] = {
    [CODING_NONE] = "identity", [CODING_GZIP] = "gzip", [CODING_ZSTD] = "zstd"};

#define CODING_COUNT (sizeof names / sizeof names[0])

const char *coding_name(enum coding coding)
{
    assert(coding < CODING_COUNT);
    return names[coding];
}

/* ---- what a reader asks for ---- */

/* Thousandths: 1000 for "1", "1.0" or nothing; what is no number counts as 0. */
static unsigned weight_of(const char *parameters, size_t len)
{
    unsigned weight = 0, place = 1000;
    const char *at = memchr(parameters, '=', len), *end = parameters + len;
    if (at == NULL)
        return 1000;
    for (at++; at < end && *at == ' '; at++)
        ;
    for (; at < end && *at != ' '; at++) {
        if (*at == '.')
            continue;
        if (*at < '0' || *at > '9' || place == 0)
            return 0;
        weight += (unsigned)(*at - '0') * place;
        place /= 10;
    }
    return weight;
}

enum coding coding_choose(const char *accepted)
{
    enum coding best = CODING_NONE;
    unsigned best_weight = 0;
    for (const char *at = accepted == NULL ? "" : accepted; *at != '\0';) {
        at += strspn(at, " \t,");
        size_t len = strcspn(at, ","), word = strcspn(at, " \t;,");
        unsigned weight = weight_of(at + word, len - word);
        for (size_t i = CODING_GZIP; i < CODING_COUNT; i++) {
            bool named = word == strlen(names[i]) && strncasecmp(at, names[i], word) == 0;
            if (named && weight > 0 &&
                (weight > best_weight || (weight == best_weight && (enum coding)i > best))) {
                best = (enum coding)i;
                best_weight = weight;
            }
        }
        at += len;
    }
    return best;
}

bool coding_helps(const char *content_type)
{
    static const char *const types[] = {"text/", "application/json", "application/feed+json",
                                        "application/rss+xml", "image/svg+xml"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strncmp(content_type, types[i], strlen(types[i])) == 0)
            return true;
    return false;
}

/* ---- the codings ---- */

/* The size of what stands at `to`, or 0. */
static size_t gzip(struct bytes content, char *to, size_t room)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    stream.next_in = (const Bytef *)content.data;
    stream.avail_in = (uInt)content.len;
    stream.next_out = (Bytef *)to;
    stream.avail_out = (uInt)room;
    int end = deflate(&stream, Z_FINISH);
    size_t size = end == Z_STREAM_END ? room - stream.avail_out : 0;
    deflateEnd(&stream);
    return size;
}

static size_t zstd(struct bytes content, char *to, size_t room)
{
    size_t size = ZSTD_compress(to, room, content.data, content.len, ZSTD_LEVEL);
    return ZSTD_isError(size) ? 0 : size;
}

bool coding_apply(enum coding coding, struct bytes content, struct text *out)
{
    assert(coding == CODING_GZIP || coding == CODING_ZSTD);
    if (content.len == 0 || content.len > UINT_MAX)
        return false;
    char *to = text_reserve(out, content.len); /* no more room than would be worth it */
    size_t size = coding == CODING_GZIP ? gzip(content, to, content.len - 1)
                                        : zstd(content, to, content.len - 1);
    out->len += size;
    return size > 0;
}
