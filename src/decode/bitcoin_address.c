/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/bitcoin_address.h"

#include "base/base58.h"
#include "base/digest.h"
#include "decode/bech32.h"

#include <string.h>

#define VERSION_KEY_HASH    0x00
#define VERSION_SCRIPT_HASH 0x05
#define PREFIX              "bc" /* of the main chain, in bech32 */
#define WORDS               (DIGEST_160_SIZE * 8 / 5)

/* ---- bech32 ---- */

/* Witness version 0 and the hash in words of five bits, then their checksum with the prefix. */
static void append_bech32(const uint8_t hash[DIGEST_160_SIZE], struct text *out)
{
    uint8_t words[1 + WORDS] = {0};
    uint32_t sum = bech32_begin(bytes_of(PREFIX)), bits = 0;
    for (size_t i = 0, at = 1, held = 0; i < DIGEST_160_SIZE; i++) {
        bits = bits << 8 | hash[i];
        for (held += 8; held >= 5; held -= 5)
            words[at++] = bits >> (held - 5) & 31;
    }
    text_append_string(out, PREFIX "1");
    for (size_t i = 0; i < sizeof words; i++) {
        sum = bech32_fold(sum, words[i]);
        text_append_char(out, bech32_letters[words[i]]);
    }
    for (size_t i = 0; i < BECH32_CHECK_WORDS; i++)
        sum = bech32_fold(sum, 0);
    sum ^= 1;
    for (size_t i = BECH32_CHECK_WORDS; i-- > 0;)
        text_append_char(out, bech32_letters[sum >> (5 * i) & 31]);
}

/* ---- addresses ---- */

static void append_base58(uint8_t version, const uint8_t hash[DIGEST_160_SIZE], struct text *out)
{
    uint8_t payload[1 + DIGEST_160_SIZE] = {version};
    memcpy(payload + 1, hash, DIGEST_160_SIZE);
    base58_check_encode(bytes_make(payload, sizeof payload), out);
}

void bitcoin_address(enum bitcoin_form form, const uint8_t point[SECP256K1_POINT_SIZE],
                     struct text *out)
{
    /* Witness version 0, and a push of the 20 bytes that follow. */
    uint8_t script[2 + DIGEST_160_SIZE] = {0, DIGEST_160_SIZE};
    uint8_t hash[DIGEST_160_SIZE];
    digest_hash160(bytes_make(point, SECP256K1_POINT_SIZE), hash);
    switch (form) {
    case BITCOIN_LEGACY:
        append_base58(VERSION_KEY_HASH, hash, out);
        break;
    case BITCOIN_NESTED_SEGWIT:
        memcpy(script + 2, hash, sizeof hash);
        digest_hash160(bytes_make(script, sizeof script), hash);
        append_base58(VERSION_SCRIPT_HASH, hash, out);
        break;
    case BITCOIN_SEGWIT:
        append_bech32(hash, out);
        break;
    }
}
