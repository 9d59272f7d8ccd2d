/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/at_uri.h"

#include <string.h>

#define SCHEME "at://"

/* Cuts what stands before the next slash off `rest`; without one, all of it. */
static struct bytes cut_part(struct bytes *rest)
{
    const char *slash = rest->len == 0 ? NULL : memchr(rest->data, '/', rest->len);
    size_t len = slash == NULL ? rest->len : (size_t)(slash - rest->data);
    size_t past = slash == NULL ? len : len + 1;
    struct bytes part = bytes_make(rest->data, len);
    *rest = bytes_make(rest->data + past, rest->len - past);
    return part;
}

/* No blanks, nothing beyond ASCII, no query and no fragment. */
static bool is_plain(struct bytes part)
{
    for (size_t i = 0; i < part.len; i++)
        if (part.data[i] <= ' ' || part.data[i] >= 0x7f || part.data[i] == '?' ||
            part.data[i] == '#')
            return false;
    return true;
}

static bool fits(struct bytes part, size_t max)
{
    return part.len > 0 && part.len <= max && is_plain(part);
}

bool at_uri_parse(struct bytes uri, struct at_uri *out)
{
    if (!bytes_starts_with(uri, SCHEME))
        return false;
    struct bytes rest = bytes_make(uri.data + sizeof SCHEME - 1, uri.len - (sizeof SCHEME - 1));
    out->did = cut_part(&rest);
    out->collection = cut_part(&rest);
    out->rkey = rest;
    return bytes_starts_with(out->did, "did:") && fits(out->did, AT_DID_MAX) &&
           fits(out->collection, AT_COLLECTION_MAX) && fits(out->rkey, AT_RKEY_MAX) &&
           memchr(out->rkey.data, '/', out->rkey.len) == NULL;
}
