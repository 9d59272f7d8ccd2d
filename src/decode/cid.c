/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/cid.h"

#include "decode/protobuf.h"

#include <string.h>

#define SHA2_256     0x12
#define V0_TEXT_LEN  46
#define V0_BYTES     34
#define BINARY_MAX   96
#define ALPHABET_58  "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
#define ALPHABET_36  "0123456789abcdefghijklmnopqrstuvwxyz"
#define ALPHABET_32  "abcdefghijklmnopqrstuvwxyz234567"
#define ALPHABET_32U "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
#define ALPHABET_16  "0123456789abcdef"
#define ALPHABET_16U "0123456789ABCDEF"

/* How one multibase spells bytes: by groups of `bits`, or, when that is 0, as one large number. */
struct multibase {
    char prefix;
    unsigned bits;
    const char *alphabet;
};

static const struct multibase multibases[] = {
    {'b', 5, ALPHABET_32},  {'B', 5, ALPHABET_32U}, {'f', 4, ALPHABET_16},
    {'F', 4, ALPHABET_16U}, {'k', 0, ALPHABET_36},  {'z', 0, ALPHABET_58},
};

struct binary {
    uint8_t bytes[BINARY_MAX];
    size_t len;
};

static bool digit_of(const char *alphabet, char c, unsigned *digit)
{
    const char *at = c == '\0' ? NULL : strchr(alphabet, c);
    if (at == NULL)
        return false;
    *digit = (unsigned)(at - alphabet);
    return true;
}

/* The last group may be padded with zero bits, fewer than a digit has. */
static bool decode_groups(const struct multibase *base, struct bytes text, struct binary *out)
{
    unsigned held = 0, bits = 0, digit;
    for (size_t i = 0; i < text.len; i++) {
        if (!digit_of(base->alphabet, text.data[i], &digit))
            return false;
        held = held << base->bits | digit;
        bits += base->bits;
        if (bits < 8)
            continue;
        if (out->len == sizeof out->bytes)
            return false;
        bits -= 8;
        out->bytes[out->len++] = (uint8_t)(held >> bits);
        held &= (1U << bits) - 1;
    }
    return bits < base->bits && held == 0;
}

/* Every leading first digit is a zero byte; the rest is a number, most significant digit first. */
static bool decode_number(const struct multibase *base, struct bytes text, struct binary *out)
{
    unsigned radix = (unsigned)strlen(base->alphabet), digit;
    size_t zeros = 0;
    while (zeros < text.len && text.data[zeros] == base->alphabet[0])
        zeros++;
    uint8_t little[BINARY_MAX];
    size_t len = 0;
    for (size_t i = zeros; i < text.len; i++) {
        if (!digit_of(base->alphabet, text.data[i], &digit))
            return false;
        unsigned carry = digit;
        for (size_t k = 0; k < len || carry > 0; k++) {
            if (k == sizeof little)
                return false;
            carry += k < len ? little[k] * radix : 0;
            little[k] = (uint8_t)carry;
            carry >>= 8;
            len = k < len ? len : k + 1;
        }
    }
    if (zeros + len > sizeof out->bytes)
        return false;
    memset(out->bytes, 0, zeros);
    for (size_t i = 0; i < len; i++)
        out->bytes[zeros + i] = little[len - 1 - i];
    out->len = zeros + len;
    return true;
}

static bool decode_text(const struct multibase *base, struct bytes text, struct binary *out)
{
    out->len = 0;
    return base->bits > 0 ? decode_groups(base, text, out) : decode_number(base, text, out);
}

/* A multihash of SHA-256 up to the end. */
static enum rc read_multihash(struct bytes rest, struct cid *cid, struct err *err)
{
    uint64_t function, len;
    if (!protobuf_varint(&rest, &function) || !protobuf_varint(&rest, &len) || len != rest.len)
        return err_set(err, RC_REJECT, "the content address ends in the wrong place");
    if (function != SHA2_256)
        return err_set(err, RC_REJECT, "hash function 0x%llx cannot be checked, only SHA-256 can",
                       (unsigned long long)function);
    if (len != DIGEST_SIZE)
        return err_set(err, RC_REJECT, "a cut hash of %zu bytes proves too little", rest.len);
    memcpy(cid->digest, rest.data, DIGEST_SIZE);
    return RC_OK;
}

static enum rc read_version_1(struct bytes rest, struct cid *cid, struct err *err)
{
    uint64_t version, codec;
    if (!protobuf_varint(&rest, &version) || version != 1 || !protobuf_varint(&rest, &codec))
        return err_set(err, RC_REJECT, "not a content address of version 0 or 1");
    struct cid read = {.codec = codec == CID_RAW ? CID_RAW : CID_DAG_PB};
    enum rc rc = read_multihash(rest, &read, err);
    if (rc == RC_OK && codec != CID_RAW && codec != CID_DAG_PB)
        rc = err_set(err, RC_REJECT, "codec 0x%llx holds no file, only raw and dag-pb do",
                     (unsigned long long)codec);
    if (rc == RC_OK)
        *cid = read;
    return rc;
}

static bool is_version_0(struct bytes binary)
{
    return binary.len == V0_BYTES && binary.data[0] == SHA2_256 && binary.data[1] == DIGEST_SIZE;
}

enum rc cid_parse_binary(struct bytes binary, struct cid *cid, struct err *err)
{
    if (!is_version_0(binary))
        return read_version_1(binary, cid, err);
    cid->codec = CID_DAG_PB;
    memcpy(cid->digest, binary.data + 2, DIGEST_SIZE);
    return RC_OK;
}

static const struct multibase *find_multibase(char prefix)
{
    for (size_t i = 0; i < sizeof multibases / sizeof multibases[0]; i++)
        if (multibases[i].prefix == prefix)
            return &multibases[i];
    return NULL;
}

enum rc cid_parse(struct bytes text, struct cid *cid, struct err *err)
{
    static const struct multibase base58 = {'z', 0, ALPHABET_58};
    struct binary binary;
    if (text.len == 0 || text.len > CID_TEXT_MAX)
        return err_set(err, RC_REJECT, "a content address has 1 to %d characters", CID_TEXT_MAX);
    if (text.len == V0_TEXT_LEN && bytes_starts_with(text, "Qm")) {
        if (!decode_text(&base58, text, &binary) ||
            !is_version_0(bytes_make(binary.bytes, binary.len)))
            return err_set(err, RC_REJECT, "not a content address of version 0: bad base58");
        return cid_parse_binary(bytes_make(binary.bytes, binary.len), cid, err);
    }
    const struct multibase *base = find_multibase(text.data[0]);
    if (base == NULL)
        return err_set(err, RC_REJECT, "the alphabet '%c' is not known", text.data[0]);
    if (!decode_text(base, bytes_make(text.data + 1, text.len - 1), &binary))
        return err_set(err, RC_REJECT, "not well spelled in alphabet '%c'", base->prefix);
    return read_version_1(bytes_make(binary.bytes, binary.len), cid, err);
}

void cid_format(const struct cid *cid, char out[CID_TEXT_SIZE])
{
    uint8_t binary[CID_BYTES] = {1, (uint8_t)cid->codec, SHA2_256, DIGEST_SIZE};
    unsigned held = 0, bits = 0;
    char *end = out;
    memcpy(binary + CID_BYTES - DIGEST_SIZE, cid->digest, DIGEST_SIZE);
    *end++ = 'b';
    for (size_t i = 0; i < sizeof binary; i++) {
        held = held << 8 | binary[i];
        for (bits += 8; bits >= 5; bits -= 5)
            *end++ = ALPHABET_32[held >> (bits - 5) & 31];
        held &= (1U << bits) - 1;
    }
    *end++ = ALPHABET_32[held << (5 - bits) & 31];
    *end = '\0';
}

bool cid_equal(const struct cid *a, const struct cid *b)
{
    return a->codec == b->codec && memcmp(a->digest, b->digest, DIGEST_SIZE) == 0;
}

bool cid_verifies(const struct cid *cid, struct bytes block)
{
    uint8_t digest[DIGEST_SIZE];
    digest_sha256(block, digest);
    return memcmp(digest, cid->digest, DIGEST_SIZE) == 0;
}
