/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sign.h"

#include "base/digest.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void base64_is_padded_and_the_urls_is_not(void **state)
{
    struct text out = {0};
    (void)state;
    sign_base64(bytes_of("any carnal pleas"), &out);
    assert_string_equal(text_string(&out), "YW55IGNhcm5hbCBwbGVhcw==");
    text_clear(&out);
    sign_base64_url(bytes_make("\xfb\xff\xfe\x01", 4), &out);
    assert_string_equal(text_string(&out), "-__-AQ");
    text_clear(&out);
    sign_base64_url(bytes_of(""), &out);
    assert_int_equal(out.len, 0);
    text_free(&out);
}

static void only_base64_is_decoded(void **state)
{
    static const char *const wrong[] = {
        "",     "YQ",       "YQ=",  "Y Q=", "YQ==\n\n\n\n", "????",
        "Y===", "YQ==YQ==", "YR==", "YWJ=", "YWJj----",     "YWJj_w=="};
    struct text out = {0};
    (void)state;
    assert_true(sign_base64_decode(bytes_of("YWI="), &out));
    assert_int_equal(out.len, 2);
    assert_memory_equal(out.data, "ab", 2);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(sign_base64_decode(bytes_of(wrong[i]), &out));
    assert_int_equal(out.len, 2);
    text_free(&out);
}

/* RFC 4231, test case 2. */
static void the_mac_is_the_published_one(void **state)
{
    uint8_t mac[SIGN_HMAC_SIZE];
    static const uint8_t begin[] = {0x16, 0x4b, 0x7a, 0x7b, 0xfc, 0xf8, 0x19, 0xe2};
    (void)state;
    sign_hmac_sha512(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"), mac);
    assert_memory_equal(mac, begin, sizeof begin);
}

static EVP_PKEY *new_key(const char *curve)
{
    EVP_PKEY *key = EVP_EC_gen(curve);
    assert_non_null(key);
    return key;
}

static void write_pem(EVP_PKEY *key, bool sec1, struct text *out)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *data;
    if (sec1)
        assert_int_equal(PEM_write_bio_PrivateKey_traditional(bio, key, NULL, NULL, 0, NULL, NULL),
                         1);
    else
        assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    long len = BIO_get_mem_data(bio, &data);
    text_clear(out);
    text_append(out, data, (size_t)len);
    BIO_free(bio);
}

static void verify(EVP_PKEY *key, const char *input, const uint8_t signature[SIGN_ES256_SIZE])
{
    ECDSA_SIG *pair = ECDSA_SIG_new();
    unsigned char *der = NULL;
    ECDSA_SIG_set0(pair, BN_bin2bn(signature, 32, NULL), BN_bin2bn(signature + 32, 32, NULL));
    int len = i2d_ECDSA_SIG(pair, &der);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(
        EVP_DigestVerify(context, der, (size_t)len, (const unsigned char *)input, strlen(input)),
        1);
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
}

static void both_ways_to_write_a_key_sign(void **state)
{
    EVP_PKEY *key = new_key("P-256");
    struct text pem = {0}, folded = {0};
    uint8_t signature[SIGN_ES256_SIZE];
    struct err err;
    (void)state;
    for (int round = 0; round < 40; round++) {
        write_pem(key, round % 2 == 0, &pem);
        assert_int_equal(sign_es256(text_bytes(&pem), bytes_of("a.b"), signature, &err), RC_OK);
        verify(key, "a.b", signature);
    }
    for (const char *c = pem.data; *c != '\0'; c++)
        text_append(&folded, *c == '\n' ? "\\n" : c, *c == '\n' ? 2 : 1);
    assert_int_equal(sign_es256(text_bytes(&folded), bytes_of("c"), signature, &err), RC_OK);
    verify(key, "c", signature);
    text_free(&folded);
    text_free(&pem);
    EVP_PKEY_free(key);
}

static void other_keys_are_refused_and_never_shown(void **state)
{
    EVP_PKEY *key = new_key("P-384");
    struct text pem = {0};
    uint8_t signature[SIGN_ES256_SIZE];
    struct err err;
    (void)state;
    write_pem(key, false, &pem);
    assert_int_equal(sign_es256(text_bytes(&pem), bytes_of("a"), signature, &err), RC_REJECT);
    assert_int_equal(sign_es256(bytes_of("canary-4711"), bytes_of("a"), signature, &err),
                     RC_REJECT);
    assert_null(strstr(err.text, "canary"));
    text_free(&pem);
    EVP_PKEY_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_is_padded_and_the_urls_is_not),
        cmocka_unit_test(only_base64_is_decoded),
        cmocka_unit_test(the_mac_is_the_published_one),
        cmocka_unit_test(both_ways_to_write_a_key_sign),
        cmocka_unit_test(other_keys_are_refused_and_never_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
