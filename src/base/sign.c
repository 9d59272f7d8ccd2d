/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sign.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PEM_BYTES_MAX 4096
#define SCALAR_SIZE   32

static size_t encode(struct bytes input, struct text *out)
{
    size_t size = (input.len + 2) / 3 * 4;
    if (input.len > INT_MAX / 2)
        abort();
    EVP_EncodeBlock((unsigned char *)text_reserve(out, size + 1),
                    (const unsigned char *)(input.data == NULL ? "" : input.data), (int)input.len);
    out->len += size;
    out->data[out->len] = '\0';
    return size;
}

void sign_base64(struct bytes input, struct text *out)
{
    encode(input, out);
}

void sign_base64_url(struct bytes input, struct text *out)
{
    size_t size = encode(input, out);
    for (char *c = out->data + out->len - size; *c != '\0'; c++)
        *c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c);
    while (size-- > 0 && out->data[out->len - 1] == '=')
        out->data[--out->len] = '\0';
}

static bool is_digit_of_base64(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

/* How many = end the input; false: one stands elsewhere, or what is none of the digits. The decoder
 * takes both: it skips white space and hyphens at the ends, which would shift the padding. */
static bool count_padding(struct bytes input, size_t *padding)
{
    *padding =
        (size_t)(input.data[input.len - 1] == '=') + (size_t)(input.data[input.len - 2] == '=');
    size_t text_len = input.len - *padding;
    for (size_t i = 0; i < text_len; i++)
        if (!is_digit_of_base64(input.data[i]))
            return false;
    return true;
}

bool sign_base64_decode(struct bytes input, struct text *out)
{
    size_t padding;
    if (input.len == 0 || input.len % 4 != 0 || input.len > INT_MAX / 2 ||
        !count_padding(input, &padding))
        return false;
    int size = EVP_DecodeBlock((unsigned char *)text_reserve(out, input.len),
                               (const unsigned char *)input.data, (int)input.len);
    if (size < 0)
        return false;
    size_t len = out->len + (size_t)size - padding;
    for (size_t i = 0; i < padding; i++)
        if (out->data[len + i] != '\0')
            return false; /* bits are left over: another text says the same */
    out->len = len;
    out->data[out->len] = '\0';
    return true;
}

void sign_hmac_sha512(struct bytes key, struct bytes input, uint8_t out[SIGN_HMAC_SIZE])
{
    unsigned size = 0;
    if (key.len > INT_MAX ||
        HMAC(EVP_sha512(), key.data == NULL ? "" : key.data, (int)key.len,
             (const unsigned char *)(input.data == NULL ? "" : input.data), input.len, out,
             &size) == NULL ||
        size != SIGN_HMAC_SIZE)
        abort();
}

/* In files of settings the line ends of a key are often two characters. */
static size_t unfold_lines(struct bytes pem, char *out)
{
    size_t len = 0;
    for (size_t i = 0; i < pem.len; i++) {
        bool fold = pem.data[i] == '\\' && i + 1 < pem.len && pem.data[i + 1] == 'n';
        out[len++] = fold ? '\n' : pem.data[i];
        i += fold;
    }
    return len;
}

/* Only what this curve's keys can be is tried: the library, left to guess, tries every kind of key
 * that it knows, and takes four times as long. */
static EVP_PKEY *decode_key(const unsigned char *der, size_t len, const char *structure)
{
    EVP_PKEY *key = NULL;
    OSSL_DECODER_CTX *context =
        OSSL_DECODER_CTX_new_for_pkey(&key, "DER", structure, "EC", EVP_PKEY_KEYPAIR, NULL, NULL);
    if (context == NULL)
        abort();
    (void)OSSL_DECODER_from_data(context, &der, &len);
    OSSL_DECODER_CTX_free(context);
    return key;
}

/* The first private key among the blocks of the text; one with headers is behind a password. */
static EVP_PKEY *find_key(BIO *bio)
{
    EVP_PKEY *key = NULL;
    char *name, *headers;
    unsigned char *der;
    long len;
    while (key == NULL && PEM_read_bio(bio, &name, &headers, &der, &len) == 1) {
        const char *structure = strcmp(name, PEM_STRING_ECPRIVATEKEY) == 0 ? "type-specific"
                                : strcmp(name, PEM_STRING_PKCS8INF) == 0   ? "PrivateKeyInfo"
                                                                           : NULL;
        if (structure != NULL && *headers == '\0')
            key = decode_key(der, (size_t)len, structure);
        OPENSSL_free(name);
        OPENSSL_free(headers);
        OPENSSL_clear_free(der, (size_t)len);
    }
    return key;
}

static EVP_PKEY *read_key(struct bytes pem)
{
    char lines[PEM_BYTES_MAX];
    if (pem.len == 0 || pem.len > sizeof lines)
        return NULL;
    BIO *bio = BIO_new_mem_buf(lines, (int)unfold_lines(pem, lines));
    if (bio == NULL)
        abort();
    EVP_PKEY *key = find_key(bio);
    BIO_free(bio);
    OPENSSL_cleanse(lines, sizeof lines);
    char group[32] = "";
    if (key != NULL && (EVP_PKEY_get_group_name(key, group, sizeof group, NULL) != 1 ||
                        strcmp(group, "prime256v1") != 0)) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

/* The library's signature is DER; the wire wants the two numbers side by side. */
static bool unpack(const unsigned char *der, size_t len, uint8_t out[SIGN_ES256_SIZE])
{
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)len);
    bool done = pair != NULL &&
                BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, SCALAR_SIZE) == SCALAR_SIZE &&
                BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + SCALAR_SIZE, SCALAR_SIZE) == SCALAR_SIZE;
    ECDSA_SIG_free(pair);
    return done;
}

enum rc sign_es256(struct bytes pem, struct bytes input, uint8_t out[SIGN_ES256_SIZE],
                   struct err *err)
{
    unsigned char der[128];
    size_t len = sizeof der;
    EVP_PKEY *key = read_key(pem);
    if (key == NULL)
        return err_set(err, RC_REJECT,
                       "the secret is no private key on the curve P-256 in PEM without a password");
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done =
        context != NULL && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestSign(context, der, &len, (const unsigned char *)input.data, input.len) == 1 &&
        unpack(der, len, out);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return done ? RC_OK : err_set(err, RC_REJECT, "the key could not sign");
}
