/* SPDX-License-Identifier: Apache-2.0
 *
 * assets.h - the files of the page and the description of the API, part of the program.
 *
 * They are put into it when it is built, so what is served fits what serves it. A name is the whole
 * address: there are no folders, and nothing is read from a disk.
 *
 * Thread: the serving loop. */
#ifndef SERVE_ASSETS_H
#define SERVE_ASSETS_H

#include <stddef.h>

struct request;

struct asset {
    const char *name;
    const char *content_type;
    const char *etag; /* with its quotes; changes with the bytes */
    const unsigned char *data;
    size_t len;
};

extern const struct asset assets[];
extern const size_t asset_count;

/* NULL: there is none of this name. */
const struct asset *asset_find(const char *name);

/* The description of the API; a file of them, by the part of the path that its route leaves
 * open. */
void openapi_begin(struct request *request);
void asset_begin(struct request *request);

#endif
