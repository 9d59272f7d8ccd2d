/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/extended_key.h"

#include "base/base58.h"
#include "base/sign.h"

#include <assert.h>
#include <string.h>

#define TEXT_SIZE       111
#define PAYLOAD_SIZE    78
#define CHAIN_CODE_AT   13 /* version, depth, the parent's fingerprint and the number come first */
#define POINT_AT        45
#define CHAIN_CODE_SIZE 32
#define PREFIX_SIZE     4

static const struct {
    const char *prefix;
    uint32_t version;
    enum bitcoin_form form;
} spellings[] = {{"xpub", 0x0488b21e, BITCOIN_LEGACY},
                 {"ypub", 0x049d7cb2, BITCOIN_NESTED_SEGWIT},
                 {"zpub", 0x04b24746, BITCOIN_SEGWIT}};

static uint32_t read_big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool has_ending(struct bytes text, const char *ending)
{
    return text.len > PREFIX_SIZE && memcmp(text.data + 1, ending, strlen(ending)) == 0;
}

bool extended_key_is(struct bytes text)
{
    return text.len == TEXT_SIZE && (has_ending(text, "pub") || has_ending(text, "prv"));
}

enum rc extended_key_read(struct bytes text, struct extended_key *key, struct err *err)
{
    uint8_t payload[PAYLOAD_SIZE];
    if (has_ending(text, "prv"))
        return err_set(err, RC_REJECT,
                       "this is a private key, which nobody should be given: take the public one "
                       "(xpub, ypub or zpub)");
    if (!base58_check_decode(text, payload, sizeof payload))
        return err_set(err, RC_REJECT, "the extended public key is mistyped: its checksum differs");
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        if (read_big_endian(payload) != spellings[i].version)
            continue;
        key->form = spellings[i].form;
        memcpy(key->chain_code, payload + CHAIN_CODE_AT, sizeof key->chain_code);
        memcpy(key->point, payload + POINT_AT, sizeof key->point);
        if (!secp256k1_is_point(key->point))
            return err_set(err, RC_REJECT, "the extended public key holds no public key");
        return RC_OK;
    }
    return err_set(err, RC_REJECT,
                   "%.*s... is no extended public key of Bitcoin: those begin with "
                   "xpub, ypub or zpub",
                   PREFIX_SIZE, text.data);
}

bool extended_key_child(const struct extended_key *parent, uint32_t number,
                        struct extended_key *child)
{
    uint8_t input[SECP256K1_POINT_SIZE + 4], mac[SIGN_HMAC_SIZE];
    assert(number < EXTENDED_KEY_NUMBERS);
    memcpy(input, parent->point, SECP256K1_POINT_SIZE);
    for (unsigned i = 0; i < 4; i++)
        input[SECP256K1_POINT_SIZE + i] = (uint8_t)(number >> (24 - 8 * i));
    sign_hmac_sha512(bytes_make(parent->chain_code, CHAIN_CODE_SIZE),
                     bytes_make(input, sizeof input), mac);
    child->form = parent->form;
    memcpy(child->chain_code, mac + SECP256K1_SCALAR_SIZE, CHAIN_CODE_SIZE);
    return secp256k1_add_base(parent->point, mac, child->point);
}

bool extended_key_address(const struct extended_key *chain, uint32_t number, struct text *out)
{
    struct extended_key child;
    if (!extended_key_child(chain, number, &child))
        return false;
    bitcoin_address(child.form, child.point, out);
    return true;
}
