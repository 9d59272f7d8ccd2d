/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/ipfs_uri.h"

#include <string.h>

#define SCHEME_LEN (sizeof IPFS_URI_SCHEME - 1)
#define OLD_PREFIX "ipfs/"

static struct bytes skip(struct bytes from, size_t count)
{
    return bytes_make(from.data + count, from.len - count);
}

/* Not isalnum(): what a letter is does not depend on where the program runs. */
static size_t count_letters(struct bytes text)
{
    size_t len = 0;
    while (len < text.len && ((text.data[len] >= '0' && text.data[len] <= '9') ||
                              (text.data[len] >= 'a' && text.data[len] <= 'z') ||
                              (text.data[len] >= 'A' && text.data[len] <= 'Z')))
        len++;
    return len;
}

bool ipfs_uri_next(struct bytes *rest, struct bytes *name)
{
    while (rest->len > SCHEME_LEN) {
        const char *at = memmem(rest->data, rest->len, IPFS_URI_SCHEME, SCHEME_LEN);
        if (at == NULL)
            return false;
        *rest = skip(*rest, (size_t)(at - rest->data) + SCHEME_LEN);
        if (bytes_starts_with(*rest, OLD_PREFIX))
            *rest = skip(*rest, sizeof OLD_PREFIX - 1);
        size_t len = count_letters(*rest);
        *name = bytes_make(rest->data, len < IPFS_URI_NAME_MAX ? len : IPFS_URI_NAME_MAX);
        *rest = skip(*rest, len);
        if (len > 0)
            return true;
    }
    return false;
}
