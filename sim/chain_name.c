/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/chain_name.h"
#include "base/digest.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BASE58_BITCOIN "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
#define BASE58_RIPPLE  "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"
#define BECH32         "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
#define NUMBERED_BASE  5000000u
#define NAMED_MAX      64 /* bytes of which a name is made */
/* Odd, and what undoes it modulo 2^64. */
#define NUMBER_FACTOR  0x9e3779b97f4a7c15u
#define NUMBER_INVERSE 0xf1de83e19937733du

/* Whose name it is. */
enum named { NAMED_PARTY, NAMED_TX, NAMED_BLOCK, NAMED_ASSET };

static const char *const platforms[FAMILY_COUNT] = {
    [FAMILY_EVM] = "ethereum",
    [FAMILY_BITCOIN] = "bitcoin",
    [FAMILY_LITECOIN] = "litecoin",
    [FAMILY_DOGECOIN] = "dogecoin",
    [FAMILY_BITCOIN_CASH] = "bitcoin-cash",
    [FAMILY_SOLANA] = "solana",
    [FAMILY_SUBSTRATE] = "polkadot",
    [FAMILY_NEAR] = "near",
    [FAMILY_COSMOS] = "cosmoshub",
    [FAMILY_XRP] = "xrp",
    [FAMILY_CARDANO] = "cardano",
    [FAMILY_KRAKEN] = "kraken",
    [FAMILY_COINBASE] = "coinbase",
    [FAMILY_NUMBERED] = "madeup",
};

enum chain_family chain_family_of(struct bytes platform)
{
    for (enum chain_family family = FAMILY_BITCOIN; family < FAMILY_COUNT; family++)
        if (bytes_equal_string(platform, platforms[family]))
            return family;
    return bytes_equal_string(platform, "github") ? FAMILY_NUMBERED : FAMILY_EVM;
}

bool chain_family_fails(enum chain_family family)
{
    return family == FAMILY_EVM || (family >= FAMILY_SOLANA && family <= FAMILY_CARDANO);
}

const char *chain_family_platform(enum chain_family family)
{
    assert(family < FAMILY_COUNT);
    return platforms[family];
}

/* 64 bytes that nobody else has. */
static void draw_name(const struct chain *chain, enum named what, uint64_t number, uint32_t extra,
                      uint8_t out[NAMED_MAX])
{
    enum seeded_salt salt = SALT_CHAIN_NAME + (enum seeded_salt)what;
    struct draw draw = draw_make(chain_settings(chain)->seed + extra, number, salt);
    for (size_t i = 0; i < NAMED_MAX; i += 8) {
        uint64_t bits = draw_next(&draw);
        memcpy(out + i, &bits, 8);
    }
}

static void write_hex(const uint8_t *data, size_t len, bool upper, char *out)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * len] = '\0';
}

static void write_base58(const uint8_t *data, size_t len, const char *alphabet, char *out,
                         size_t size)
{
    uint8_t digits[2 * NAMED_MAX] = {0};
    size_t count = 0, zeros = 0, at = 0;
    while (zeros < len && data[zeros] == 0)
        zeros++;
    for (size_t i = zeros; i < len; i++) {
        unsigned carry = data[i];
        for (size_t k = 0; k < count; k++) {
            carry += 256u * digits[k];
            digits[k] = (uint8_t)(carry % 58);
            carry /= 58;
        }
        for (; carry > 0; carry /= 58)
            digits[count++] = (uint8_t)(carry % 58);
    }
    assert(zeros + count < size);
    for (; at < zeros; at++)
        out[at] = alphabet[0];
    while (count > 0)
        out[at++] = alphabet[digits[--count]];
    out[at] = '\0';
}

/* Version byte, payload and four bytes of a double SHA-256. */
static void write_base58_check(uint8_t version, const uint8_t payload[20], const char *alphabet,
                               char out[CHAIN_NAME_SIZE])
{
    uint8_t data[25], digest[DIGEST_SIZE];
    data[0] = version;
    memcpy(data + 1, payload, 20);
    digest_sha256(bytes_make(data, 21), digest);
    digest_sha256(bytes_make(digest, DIGEST_SIZE), digest);
    memcpy(data + 21, digest, 4);
    write_base58(data, sizeof data, alphabet, out, CHAIN_NAME_SIZE);
}

/* Two bytes of BLAKE2b close an address of Substrate. */
static void write_ss58(const uint8_t key[32], char out[CHAIN_NAME_SIZE])
{
    uint8_t input[7 + 33], data[35], digest[64];
    unsigned len = 0;
    memcpy(input, "SS58PRE", 7);
    input[7] = 0; /* Polkadot */
    memcpy(input + 8, key, 32);
    int done = EVP_Digest(input, sizeof input, digest, &len, EVP_blake2b512(), NULL);
    assert(done == 1 && len == sizeof digest);
    memcpy(data, input + 7, 33);
    memcpy(data + 33, digest, 2);
    write_base58(data, sizeof data, BASE58_BITCOIN, out, CHAIN_NAME_SIZE);
}

static uint32_t bech32_step(uint32_t sum, unsigned value)
{
    static const uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                         0x2a1462b3};
    uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ value;
    for (unsigned i = 0; i < 5; i++)
        if ((top >> i & 1) != 0)
            sum ^= generator[i];
    return sum;
}

/* `version` -1: none, as outside of Bitcoin. */
static void write_bech32(const char *prefix, int version, const uint8_t *data, size_t len,
                         char out[CHAIN_NAME_SIZE])
{
    uint32_t sum = 1;
    size_t at = strlen(prefix);
    memcpy(out, prefix, at);
    for (size_t i = 0; i < at; i++)
        sum = bech32_step(sum, (unsigned char)prefix[i] >> 5);
    sum = bech32_step(sum, 0);
    for (size_t i = 0; i < at; i++)
        sum = bech32_step(sum, prefix[i] & 31);
    out[at++] = '1';
    if (version >= 0) {
        sum = bech32_step(sum, (unsigned)version);
        out[at++] = BECH32[version];
    }
    /* Groups of five bits, the last one filled up with zeros. */
    for (size_t bit = 0; bit < 8 * len; bit += 5) {
        unsigned pair = (unsigned)data[bit / 8] << 8 | (bit / 8 + 1 < len ? data[bit / 8 + 1] : 0);
        unsigned group = pair >> (11 - bit % 8) & 31;
        sum = bech32_step(sum, group);
        out[at++] = BECH32[group];
    }
    for (unsigned i = 0; i < 6; i++)
        sum = bech32_step(sum, 0);
    sum ^= 1;
    for (unsigned i = 0; i < 6; i++)
        out[at++] = BECH32[sum >> 5 * (5 - i) & 31];
    out[at] = '\0';
}

void chain_address(const struct chain *chain, enum chain_family family, uint32_t party,
                   char out[CHAIN_NAME_SIZE])
{
    uint8_t name[NAMED_MAX];
    out[0] = '\0';
    if (party == CHAIN_NONE)
        return;
    draw_name(chain, NAMED_PARTY, party, family == FAMILY_EVM ? 0 : 1, name);
    switch (family) {
    case FAMILY_BITCOIN:
    case FAMILY_LITECOIN:
        write_bech32(family == FAMILY_BITCOIN ? "bc" : "ltc", 0, name, 20, out);
        break;
    case FAMILY_DOGECOIN:
    case FAMILY_BITCOIN_CASH:
        write_base58_check(family == FAMILY_DOGECOIN ? 30 : 0, name, BASE58_BITCOIN, out);
        break;
    case FAMILY_SOLANA:
        write_base58(name, 32, BASE58_BITCOIN, out, CHAIN_NAME_SIZE);
        break;
    case FAMILY_SUBSTRATE:
        write_ss58(name, out);
        break;
    case FAMILY_NEAR:
        snprintf(out, CHAIN_NAME_SIZE, "party%02x%02x-%u.near", name[0], name[1], party);
        break;
    case FAMILY_COSMOS:
        write_bech32("cosmos", -1, name, 20, out);
        break;
    case FAMILY_XRP:
        write_base58_check(0, name, BASE58_RIPPLE, out);
        break;
    case FAMILY_CARDANO:
        name[0] = 0x01; /* a payment key and a stake key, mainnet */
        write_bech32("addr", -1, name, 57, out);
        break;
    case FAMILY_KRAKEN:
    case FAMILY_COINBASE:
    case FAMILY_NUMBERED:
        snprintf(out, CHAIN_NAME_SIZE, "party-%u", party);
        break;
    default:
        memcpy(out, "0x", 2);
        write_hex(name, 20, false, out + 2);
    }
}

uint32_t chain_find_address(const struct chain *chain, enum chain_family family,
                            struct bytes address)
{
    char name[CHAIN_NAME_SIZE];
    for (uint32_t i = 0; i < chain_settings(chain)->accounts; i++) {
        chain_address(chain, family, i, name);
        if (strlen(name) == address.len &&
            (family == FAMILY_EVM ? strncasecmp(name, address.data, address.len) == 0
                                  : memcmp(name, address.data, address.len) == 0))
            return i;
    }
    return CHAIN_NONE;
}

/* The first eight bytes of a transaction's name give its number away to whoever knows the seed, so
 * that a name can be looked up. */
static uint64_t number_name(const struct chain *chain, uint64_t id)
{
    return (id ^ chain_settings(chain)->seed) * NUMBER_FACTOR;
}

static uint64_t name_number(const struct chain *chain, const uint8_t name[8])
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 8; i++)
        number = number << 8 | name[i];
    return (number * NUMBER_INVERSE) ^ chain_settings(chain)->seed;
}

/* Keeps a few digits of a name, in groups. */
static void group_name(char name[CHAIN_NAME_SIZE], const char *prefix, const unsigned *lengths)
{
    char out[CHAIN_NAME_SIZE];
    const char *at = name;
    int len = snprintf(out, sizeof out, "%s", prefix);
    for (unsigned i = 0; lengths[i] != 0; i++) {
        len += snprintf(out + len, sizeof out - (size_t)len, "%s%.*s", i == 0 ? "" : "-",
                        (int)lengths[i], at);
        at += lengths[i];
    }
    memcpy(name, out, (size_t)len + 1);
}

void chain_tx_name(const struct chain *chain, enum chain_family family, uint64_t id,
                   char out[CHAIN_NAME_SIZE])
{
    uint8_t name[NAMED_MAX];
    size_t prefix = family == FAMILY_EVM || family == FAMILY_SUBSTRATE ? 2 : 0;
    uint64_t number = number_name(chain, id);
    draw_name(chain, NAMED_TX, id, 0, name);
    for (unsigned i = 0; i < 8; i++)
        name[i] = (uint8_t)(number >> (56 - 8 * i));
    if (family == FAMILY_SOLANA || family == FAMILY_NEAR) {
        write_base58(name, family == FAMILY_NEAR ? 32 : 64, BASE58_BITCOIN, out, CHAIN_NAME_SIZE);
        return;
    }
    if (family == FAMILY_NUMBERED) {
        snprintf(out, CHAIN_NAME_SIZE, "%llu", (unsigned long long)id + NUMBERED_BASE);
        return;
    }
    memcpy(out, "0x", 2);
    write_hex(name, 32, family == FAMILY_COSMOS || family == FAMILY_XRP || family == FAMILY_KRAKEN,
              out + prefix);
    if (family == FAMILY_KRAKEN)
        group_name(out, "L", (const unsigned[]){5, 6, 6, 0});
    else if (family == FAMILY_COINBASE)
        group_name(out, "", (const unsigned[]){8, 4, 4, 4, 12, 0});
}

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') & 15 : ((unsigned)c & 15) + 9;
}

/* First bytes of what base 58 stands for, of a number of `len` bytes; false when it is none. */
static bool read_base58(struct bytes text, size_t len, uint8_t out[8])
{
    uint8_t data[NAMED_MAX] = {0};
    for (size_t i = 0; i < text.len; i++) {
        const char *found = memchr(BASE58_BITCOIN, text.data[i], 58);
        if (found == NULL)
            return false;
        unsigned carry = (unsigned)(found - BASE58_BITCOIN);
        for (size_t k = len; k-- > 0; carry >>= 8) {
            carry += 58u * data[k];
            data[k] = (uint8_t)carry;
        }
    }
    memcpy(out, data, 8);
    return true;
}

/* The first 16 digits of a name, whatever stands before and between them. */
static bool read_digits(struct bytes name, size_t prefix, uint8_t out[8])
{
    unsigned count = 0;
    for (size_t i = prefix; i < name.len && count < 16; i++) {
        if (name.data[i] == '-')
            continue;
        out[count / 2] = (uint8_t)((unsigned)out[count / 2] << 4 | hex_digit(name.data[i]));
        count++;
    }
    return count == 16;
}

bool chain_find_tx(const struct chain *chain, enum chain_family family, struct bytes name,
                   uint64_t *id)
{
    char have[CHAIN_NAME_SIZE];
    uint8_t head[8] = {0};
    size_t prefix = family == FAMILY_EVM || family == FAMILY_SUBSTRATE ? 2 : 0;
    if (family == FAMILY_NUMBERED) {
        if (!bytes_to_u64(name, id))
            return false;
        *id -= NUMBERED_BASE;
    } else if (family == FAMILY_SOLANA || family == FAMILY_NEAR) {
        if (!read_base58(name, family == FAMILY_NEAR ? 32 : 64, head))
            return false;
        *id = name_number(chain, head);
    } else {
        if (!read_digits(name, family == FAMILY_KRAKEN ? 1 : prefix, head))
            return false;
        *id = name_number(chain, head);
    }
    chain_tx_name(chain, family, *id, have);
    return bytes_equal_string(name, have);
}

void chain_block_name(const struct chain *chain, enum chain_family family, uint32_t number,
                      char out[CHAIN_NAME_SIZE])
{
    uint8_t name[NAMED_MAX];
    draw_name(chain, NAMED_BLOCK, number, chain_block(chain, number)->fork, name);
    memcpy(out, "0x", 2);
    write_hex(name, 32, false, out + (family == FAMILY_EVM ? 2 : 0));
}

void chain_asset_address(const struct chain *chain, unsigned asset, char out[CHAIN_NAME_SIZE])
{
    uint8_t name[NAMED_MAX];
    draw_name(chain, NAMED_ASSET, asset, 0, name);
    memcpy(out, "0x", 2);
    write_hex(name, 20, false, out + 2);
}

const char *chain_asset_symbol(unsigned asset)
{
    static const char *const symbols[CHAIN_ASSETS] = {"USDX", "DAIX", "WETX",
                                                      "TIDE", "MARK", "FOAM"};
    return symbols[asset % CHAIN_ASSETS];
}

const char *chain_amount_zeros(const struct chain_row *row)
{
    return row->amount > 0 && row->amount % 3 == 0 ? "000000000000" : "";
}
