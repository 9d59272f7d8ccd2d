/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <openssl/sha.h>

#include <stdio.h>

void digest_sha256(struct bytes input, uint8_t out[DIGEST_SIZE])
{
    SHA256((const unsigned char *)(input.data == NULL ? "" : input.data), input.len, out);
}

void digest_hex(const uint8_t digest[DIGEST_SIZE], char out[DIGEST_HEX_SIZE])
{
    for (size_t i = 0; i < DIGEST_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
