/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the private key of an exchange in PEM: refused with a sentence that repeats nothing
 * of it, or it signs. The first byte says how the rest is meant: as the text, as what stands
 * between its lines, or as a change in a key that is good. */
#include "base/sign.h"

#include <assert.h>
#include <openssl/err.h>
#include <string.h>

#define DER_SIZE 121

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A key made for this test and used nowhere, in SEC1's form. */
static const uint8_t good[DER_SIZE] = {
    0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20, 0xd4, 0xb0, 0xff, 0x1d, 0x2f, 0x80, 0x05, 0xaa, 0x5c,
    0xc3, 0x28, 0xe9, 0x9f, 0x30, 0xda, 0xf2, 0x41, 0x67, 0x60, 0x40, 0x3e, 0x15, 0xd2, 0xbb, 0xad,
    0xc4, 0x33, 0x81, 0xd2, 0xe6, 0xb4, 0x6f, 0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d,
    0x03, 0x01, 0x07, 0xa1, 0x44, 0x03, 0x42, 0x00, 0x04, 0x5e, 0xed, 0x75, 0xc1, 0x34, 0xd0, 0xd6,
    0x1f, 0x8e, 0x6b, 0xa5, 0x57, 0x8d, 0x6b, 0x13, 0x2e, 0xc9, 0x0f, 0x1d, 0x4e, 0xe5, 0xed, 0x7d,
    0xd0, 0x61, 0x54, 0x04, 0x05, 0xb5, 0x45, 0xef, 0x80, 0x48, 0x17, 0xca, 0x57, 0xda, 0xcf, 0x1b,
    0x4e, 0x5a, 0x88, 0x40, 0x43, 0xf8, 0x10, 0xb2, 0x42, 0x4f, 0x47, 0xb5, 0x4c, 0xa3, 0xc4, 0xf5,
    0x9e, 0xc0, 0xf3, 0x6e, 0x74, 0xf9, 0xfd, 0x9b, 0x4a,
};

static void check(struct bytes pem)
{
    uint8_t signature[SIGN_ES256_SIZE] = {0};
    struct err err = {""};
    enum rc rc = sign_es256(pem, bytes_of("what is signed"), signature, &err);
    /* What the library noted of its refusal would be kept for ever. */
    ERR_clear_error();
    if (rc == RC_OK) {
        static const uint8_t nothing[SIGN_ES256_SIZE];
        assert(memcmp(signature, nothing, sizeof nothing) != 0);
        return;
    }
    assert(rc == RC_REJECT && err.text[0] != '\0');
    assert(pem.len < 8 || memmem(err.text, strlen(err.text), pem.data, pem.len) == NULL);
}

static void check_between_lines(struct bytes der, const char *name)
{
    struct text pem = {0};
    text_appendf(&pem, "-----BEGIN %s-----\n", name);
    sign_base64(der, &pem);
    text_appendf(&pem, "\n-----END %s-----\n", name);
    check(text_bytes(&pem));
    text_free(&pem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t der[DER_SIZE];
    if (size < 3)
        return -1;
    switch (data[0] % 4) {
    case 0:
        check(bytes_make(data + 1, size - 1));
        break;
    case 1:
        check_between_lines(bytes_make(data + 1, size - 1), "EC PRIVATE KEY");
        break;
    case 2:
        check_between_lines(bytes_make(data + 1, size - 1), "PRIVATE KEY");
        break;
    default:
        memcpy(der, good, sizeof der);
        for (size_t i = 1; i + 1 < size; i += 2)
            der[data[i] % sizeof der] ^= data[i + 1];
        check_between_lines(bytes_make(der, sizeof der), "EC PRIVATE KEY");
        break;
    }
    return 0;
}
