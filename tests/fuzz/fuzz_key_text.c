/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the texts that keys and names are copied in: base58 with a checksum, the extended
 * public key of a wallet, base64, a UUID and the address of a record. What is read can be written
 * as the same text; what is written reads back. The first byte chooses a payload's length. */
#include "base/base58.h"
#include "base/sign.h"
#include "base/uuid.h"
#include "decode/at_uri.h"
#include "decode/extended_key.h"

#include <assert.h>
#include <string.h>

#define EXTENDED_SIZE 78

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_base58(struct bytes input, size_t size)
{
    uint8_t payload[BASE58_CHECK_MAX];
    struct text text = {0};
    if (base58_check_decode(input, payload, size)) {
        base58_check_encode(bytes_make(payload, size), &text);
        assert(bytes_equal(text_bytes(&text), input));
        text_clear(&text);
    }
    if (input.len > 0 && input.len <= BASE58_CHECK_MAX) {
        base58_check_encode(input, &text);
        bool read = base58_check_decode(text_bytes(&text), payload, input.len);
        assert(read && memcmp(payload, input.data, input.len) == 0);
    }
    text_free(&text);
}

static void check_extended(struct bytes text)
{
    struct extended_key key;
    struct err err = {""};
    if (extended_key_read(text, &key, &err) == RC_OK) {
        assert(extended_key_is(text) && (key.point[0] == 2 || key.point[0] == 3));
        return;
    }
    /* It may be private: a sentence never repeats it. */
    assert(err.text[0] != '\0');
    assert(text.len < 8 || memmem(err.text, strlen(err.text), text.data, text.len) == NULL);
}

/* With a checksum that is right, what lies behind it is reached. */
static void check_wallet(struct bytes input)
{
    static const uint8_t versions[][4] = {
        {4, 0x88, 0xb2, 0x1e}, {4, 0x88, 0xad, 0xe4}, {4, 0x9d, 0x7c, 0xb2}, {4, 0xb2, 0x47, 0x46}};
    uint8_t payload[EXTENDED_SIZE] = {0};
    struct text text = {0};
    if (input.len == 0)
        return;
    memcpy(payload, input.data, input.len < sizeof payload ? input.len : sizeof payload);
    memcpy(payload, versions[payload[0] % 4], 4);
    base58_check_encode(bytes_make(payload, sizeof payload), &text);
    check_extended(text_bytes(&text));
    text_free(&text);
}

static void check_base64(struct bytes input)
{
    struct text out = {0}, again = {0};
    if (sign_base64_decode(input, &out)) {
        sign_base64(text_bytes(&out), &again);
        assert(bytes_equal(text_bytes(&again), input));
    } else {
        assert(out.len == 0);
    }
    text_clear(&out);
    text_clear(&again);
    sign_base64(input, &out);
    bool read = sign_base64_decode(text_bytes(&out), &again);
    assert((read || input.len == 0) && bytes_equal(text_bytes(&again), input));
    text_free(&out);
    text_free(&again);
}

static void check_uuid(struct bytes input)
{
    uint8_t bytes[16], again[16];
    char text[UUID_TEXT_SIZE];
    if (!uuid_parse(input, bytes))
        return;
    assert(input.len == 32 || input.len == 36);
    memcpy(again, bytes, sizeof again);
    uuid_format(bytes, text);
    bool read = uuid_parse(bytes_of(text), again);
    /* Writing sets the version and the variant, and nothing else. */
    assert(read && again[6] >> 4 == 4 && again[8] >> 6 == 2);
    assert(memcmp(bytes, again, 6) == 0 && memcmp(bytes + 9, again + 9, 7) == 0);
}

static void check_record(struct bytes input)
{
    struct at_uri uri;
    struct text text = {0};
    if (!at_uri_parse(input, &uri))
        return;
    assert(uri.did.len <= AT_DID_MAX && uri.collection.len <= AT_COLLECTION_MAX);
    assert(uri.rkey.len <= AT_RKEY_MAX && uri.rkey.len > 0 && uri.did.len > 0);
    text_appendf(&text, "at://%.*s/%.*s/%.*s", (int)uri.did.len, uri.did.data,
                 (int)uri.collection.len, uri.collection.data, (int)uri.rkey.len, uri.rkey.data);
    assert(bytes_equal(text_bytes(&text), input));
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct bytes input = bytes_make(data + 1, size - 1);
    check_base58(input, 1 + data[0] % BASE58_CHECK_MAX);
    check_extended(input);
    if (data[0] >= 0xf0)
        check_wallet(input); /* it takes a hundred times as long as all others */
    check_base64(input);
    check_uuid(input);
    check_record(input);
    return 0;
}
