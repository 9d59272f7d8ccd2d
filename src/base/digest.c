/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <stdio.h>
#include <stdlib.h>

void digest_sha256(struct bytes input, uint8_t out[DIGEST_SIZE])
{
    SHA256((const unsigned char *)(input.data == NULL ? "" : input.data), input.len, out);
}

void digest_hash160(struct bytes input, uint8_t out[DIGEST_160_SIZE])
{
    uint8_t inner[DIGEST_SIZE];
    unsigned size = 0;
    digest_sha256(input, inner);
    if (EVP_Digest(inner, sizeof inner, out, &size, EVP_ripemd160(), NULL) != 1 ||
        size != DIGEST_160_SIZE)
        abort(); /* the library was built without it */
}

void digest_hex(const uint8_t digest[DIGEST_SIZE], char out[DIGEST_HEX_SIZE])
{
    for (size_t i = 0; i < DIGEST_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool digest_parse_hex(struct bytes hex, uint8_t out[DIGEST_SIZE])
{
    if (hex.len != (size_t)DIGEST_SIZE * 2)
        return false;
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        int high = hex_value(hex.data[2 * i]), low = hex_value(hex.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool digest_equal(const uint8_t a[DIGEST_SIZE], const uint8_t b[DIGEST_SIZE])
{
    return CRYPTO_memcmp(a, b, DIGEST_SIZE) == 0;
}
