/* SPDX-License-Identifier: Apache-2.0
 *
 * kept_picture.h - what the store has of the picture of a link or of a person.
 *
 * A picture's name is its link's id, or its person's DID, and a hash of where it lies: it stands
 * for one picture for ever, even in a store that was made anew and counts links from one again.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_KEPT_PICTURE_H
#define QUERY_KEPT_PICTURE_H

#include "store/store.h"

#define PICTURE_KEY_SIZE 17 /* 16 hexadecimal digits and a NUL */

#define PICTURE_NAME_SIZE 280

struct picture_name {
    int64_t link;                  /* 0: it is a person's */
    char key[PICTURE_KEY_SIZE];    /* of where it lies */
    char owner[PICTURE_NAME_SIZE]; /* the link's id or the person's DID */
    char words[PICTURE_NAME_SIZE]; /* the whole: of one picture there is one */
};

/* "7-0123456789abcdef", "did:plc:a-0123456789abcdef"; false: it is no name. */
must_check bool picture_name_parse(struct bytes text, struct picture_name *name);
/* Appends the name of the picture at `url` of that link or person; false: such an owner has none,
 * for it could not stand in an address. */
must_check bool picture_name_print(struct bytes owner, struct bytes url, struct text *out);

enum picture_state {
    PICTURE_UNKNOWN, /* there is no such owner, or its picture is another one */
    PICTURE_MISSING, /* it was not fetched, or could not be had a long time ago */
    PICTURE_FAILED,  /* it could not be had */
    PICTURE_KEPT,
};

struct kept_picture {
    enum picture_state state;
    struct text url;  /* of a missing one: where it lies */
    struct text data; /* of a kept one */
    char reason[96];  /* of a failed one */
};

/* What cannot be had is missing again when it failed before `again_us`. */
must_check enum rc kept_picture_find(struct store *store, const struct picture_name *name,
                                     int64_t again_us, struct kept_picture *out, struct err *err);
void kept_picture_deinit(struct kept_picture *picture);

#endif
