/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base58.h"
#include "decode/bech32.h"
#include "decode/connector.h"

#include <string.h>

#define ADDRESS_MAX 64 /* letters of a base58 address; keys have more, and are checked as such */
#define CASH_PREFIX "bitcoincash:"

static const char base58[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
static const char bech32[] = "023456789acdefghjklmnpqrstuvwxyz";
static const char hex[] = "0123456789abcdefABCDEF";

static bool made_of(struct bytes text, const char *alphabet)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\0' || strchr(alphabet, text.data[i]) == NULL)
            return false;
    return text.len > 0;
}

static bool has_case(struct bytes text, char first, char last)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] >= first && text.data[i] <= last)
            return true;
    return false;
}

static void append_lower(struct bytes text, struct text *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        text_append_char(out, c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c);
    }
}

/* "bc1q...": a prefix, the last 1, and at least six characters of its own alphabet; one case. */
static bool read_bech32(struct bytes text, struct text *out)
{
    if (has_case(text, 'a', 'z') && has_case(text, 'A', 'Z'))
        return false;
    text_clear(out);
    append_lower(text, out);
    const char *one = out->len == 0 ? NULL : strrchr(out->data, '1');
    if (one == NULL || one == out->data || strlen(out->data) != out->len)
        return false;
    size_t tail = out->len - (size_t)(one - out->data) - 1;
    return tail >= 6 && made_of(bytes_make(one + 1, tail), bech32);
}

static bool read_base58(struct bytes text, size_t min, size_t max, struct text *out)
{
    text_clear(out);
    text_append(out, text.data, text.len);
    return text.len >= min && text.len <= max && made_of(text, base58);
}

/* An address, or an extended public key. Bitcoin Cash writes a prefix and bech32's alphabet. */
static bool read_bitcoin(struct bytes text, struct text *out)
{
    const char *colon = memchr(text.data, ':', text.len);
    if (colon != NULL) {
        text_clear(out);
        append_lower(text, out);
        size_t tail = text.len - (size_t)(colon - text.data) - 1;
        return made_of(bytes_make(out->data + out->len - tail, tail), bech32);
    }
    /* Its letters may all be base58's, too. */
    if (read_bech32(text, out) && bech32_is_right(text_bytes(out)))
        return true;
    return read_base58(text, 26, 112, out) || read_bech32(text, out);
}

/* "owner/name": no part is empty, and none climbs. */
static bool read_path(struct bytes text, struct text *out)
{
    size_t part = 0;
    text_append(out, text.data, text.len);
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.data[i] != '/')
            continue;
        struct bytes name = bytes_make(text.data + part, i - part);
        if (name.len == 0 || bytes_equal_string(name, ".") || bytes_equal_string(name, ".."))
            return false;
        part = i + 1;
    }
    return true;
}

static bool read_kind(enum connector_identifier kind, struct bytes text, struct text *out)
{
    text_clear(out);
    switch (kind) {
    case IDENTIFIER_NONE:
        return text.len == 0;
    case IDENTIFIER_TEXT:
        text_append(out, text.data, text.len);
        return text.len > 0;
    case IDENTIFIER_EVM_ADDRESS:
        append_lower(text, out);
        return text.len == 42 && bytes_starts_with(text, "0x") &&
               made_of(bytes_make(text.data + 2, text.len - 2), hex);
    case IDENTIFIER_BITCOIN_ADDRESS:
        return read_bitcoin(text, out);
    case IDENTIFIER_BASE58:
        return read_base58(text, 25, 64, out);
    case IDENTIFIER_SS58:
        return read_base58(text, 46, 50, out);
    case IDENTIFIER_BECH32:
        return read_bech32(text, out);
    case IDENTIFIER_PATH:
        return read_path(text, out);
    }
    return false;
}

/* One byte says of which chain and form it is, or two (Zcash), before the 20 of a hash. */
static bool is_right_base58(struct bytes text)
{
    uint8_t payload[22];
    return base58_check_decode(text, payload, 21) || base58_check_decode(text, payload, 22);
}

/* The checksum of a form that has one. */
static bool is_right(enum connector_identifier kind, struct bytes text)
{
    if (kind == IDENTIFIER_BECH32)
        return bech32_is_right(text);
    if (kind != IDENTIFIER_BITCOIN_ADDRESS)
        return true;
    if (memchr(text.data, ':', text.len) != NULL)
        return !bytes_starts_with(text, CASH_PREFIX) || bech32_cash_is_right(text);
    bool key = text.len > ADDRESS_MAX && made_of(text, base58);
    return key || is_right_base58(text) || bech32_is_right(text);
}

enum rc connector_identifier_read(enum connector_identifier kind, struct bytes text,
                                  struct text *out, struct err *err)
{
    static const char *const expected[] = {
        [IDENTIFIER_NONE] = "nothing: the platform alone names the account",
        [IDENTIFIER_TEXT] = "a name",
        [IDENTIFIER_EVM_ADDRESS] = "an address: 0x and 40 hexadecimal digits",
        [IDENTIFIER_BITCOIN_ADDRESS] = "an address (base58 or bech32) or an extended public key",
        [IDENTIFIER_BASE58] = "an address in base58",
        [IDENTIFIER_BECH32] = "an address in bech32",
        [IDENTIFIER_SS58] = "an address in SS58",
        [IDENTIFIER_PATH] = "a path, such as owner/name",
    };
    bool clean = text.len <= CONNECTOR_ACCOUNT_MAX;
    for (size_t i = 0; clean && i < text.len; i++)
        clean = (unsigned char)text.data[i] > ' ' && text.data[i] != 0x7f;
    if (clean && read_kind(kind, text, out))
        return is_right(kind, text_bytes(out))
                   ? RC_OK
                   : err_set(err, RC_REJECT, "the address is mistyped: its checksum differs");
    return err_set(err, RC_REJECT, "after the platform comes %s", expected[kind]);
}
