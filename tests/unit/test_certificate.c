/* SPDX-License-Identifier: Apache-2.0 */
#include "test_certificate.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(bool ok)
{
    if (!ok)
        abort();
}

static X509 *sign(EVP_PKEY *key)
{
    X509 *x = X509_new();
    check(x != NULL);
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME *name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    check(names != NULL && X509_add_ext(x, names, -1) == 1);
    X509_EXTENSION_free(names);
    check(X509_sign(x, key, EVP_sha256()) > 0);
    return x;
}

static FILE *create(char path[64])
{
    snprintf(path, 64, "/tmp/tls_script_XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    check(file != NULL);
    return file;
}

void test_certificate_make(struct test_certificate *certificate)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    check(key != NULL);
    X509 *x = sign(key);
    FILE *file = create(certificate->file);
    check(PEM_write_X509(file, x) == 1 && fclose(file) == 0);
    file = create(certificate->key_file);
    check(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(file) == 0);
    X509_free(x);
    EVP_PKEY_free(key);
}

void test_certificate_remove(const struct test_certificate *certificate)
{
    unlink(certificate->file);
    unlink(certificate->key_file);
}
