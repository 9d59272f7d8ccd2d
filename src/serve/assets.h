/* SPDX-License-Identifier: Apache-2.0
 *
 * assets.h - the files of the page and the description of the API, part of the program.
 *
 * They are put into it when it is built, so what is served fits what serves it. A name is the whole
 * address: there are no folders, and nothing is read from a disk. Each file has a second name that
 * holds a hash of its bytes: what is there never changes, so browsers need not ask again. Pages and
 * modules name each other so; the plain names stay for pages that others write.
 *
 * Thread: the serving loop. */
#ifndef SERVE_ASSETS_H
#define SERVE_ASSETS_H

#include <stddef.h>

struct request;

struct asset {
    const char *name;
    const char *content_type;
    const char *etag;    /* with its quotes; changes with the bytes */
    const char *lasting; /* the address of this file that holds its hash; NULL: this is it */
    const unsigned char *data;
    size_t len;
};

extern const struct asset assets[];
extern const size_t asset_count;

/* NULL: there is none of this name. */
const struct asset *asset_find(const char *name);
/* The lasting address of the file with this plain name, which must be there. */
const char *asset_address(const char *name);

/* The description of the API; a file of them, by the part of the path that its route leaves
 * open. */
void openapi_begin(struct request *request);
void asset_begin(struct request *request);

#endif
