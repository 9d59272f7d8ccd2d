/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/bitcoin_address.h"

#include "base/base58.h"
#include "base/digest.h"

#include <string.h>

#define VERSION_KEY_HASH    0x00
#define VERSION_SCRIPT_HASH 0x05
#define PREFIX              "bc" /* of the main chain, in bech32 */
#define WORDS               (DIGEST_160_SIZE * 8 / 5)
#define CHECK_WORDS         6

/* ---- bech32 ---- */

/* One more word of five bits into the code's remainder. */
static uint32_t fold_word(uint32_t sum, unsigned word)
{
    static const uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                         0x2a1462b3};
    uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ word;
    for (unsigned i = 0; i < 5; i++)
        if ((top >> i & 1) != 0)
            sum ^= generator[i];
    return sum;
}

/* Witness version 0 and the hash in words of five bits, then their checksum with the prefix. */
static void append_bech32(const uint8_t hash[DIGEST_160_SIZE], struct text *out)
{
    static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    uint8_t words[1 + WORDS] = {0};
    uint32_t sum = 1, bits = 0;
    for (size_t i = 0, at = 1, held = 0; i < DIGEST_160_SIZE; i++) {
        bits = bits << 8 | hash[i];
        for (held += 8; held >= 5; held -= 5)
            words[at++] = bits >> (held - 5) & 31;
    }
    for (const char *c = PREFIX; *c != '\0'; c++)
        sum = fold_word(sum, (unsigned)*c >> 5);
    sum = fold_word(sum, 0);
    for (const char *c = PREFIX; *c != '\0'; c++)
        sum = fold_word(sum, (unsigned)*c & 31);
    text_append_string(out, PREFIX "1");
    for (size_t i = 0; i < sizeof words; i++) {
        sum = fold_word(sum, words[i]);
        text_append_char(out, alphabet[words[i]]);
    }
    for (size_t i = 0; i < CHECK_WORDS; i++)
        sum = fold_word(sum, 0);
    sum ^= 1;
    for (size_t i = CHECK_WORDS; i-- > 0;)
        text_append_char(out, alphabet[sum >> (5 * i) & 31]);
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
