/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include <stdlib.h>
#include <string.h>

void secret_set(struct secret *secret, struct bytes value)
{
    unsigned char *octets = NULL;
    if (value.len > 0) {
        octets = memory_new(value.len);
        memcpy(octets, value.data, value.len);
    }
    secret_clear(secret);
    *secret = (struct secret){octets, value.len};
}

void secret_clear(struct secret *secret)
{
    if (secret->octets != NULL)
        explicit_bzero(secret->octets, secret->len);
    free(secret->octets);
    *secret = (struct secret){0};
}

bool secret_given(const struct secret *secret)
{
    return secret->octets != NULL;
}

struct bytes secret_reveal(const struct secret *secret)
{
    return bytes_make(secret->octets, secret->len);
}
