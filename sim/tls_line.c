/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/tls_line.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#define DAY_SECONDS 86400
#define CHUNK       16384

struct tls_keys {
    SSL_CTX *proper, *strange;
    struct text certificate;
};

struct tls_line {
    SSL *ssl;
    BIO *in, *out; /* the session's */
    bool ended;
};

static void need(bool held)
{
    /* Only a lack of memory or of a working library leads here. */
    if (!held)
        abort();
}

static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    need(key != NULL && certificate != NULL);
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY_SECONDS);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 30L * DAY_SECONDS);
    X509_set_pubkey(certificate, key);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"tidemark-sim", -1,
                               -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    need(names != NULL && X509_add_ext(certificate, names, -1) == 1);
    X509_EXTENSION_free(names);
    need(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

static SSL_CTX *make_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = make_certificate(key);
    need(context != NULL && SSL_CTX_use_certificate(context, certificate) == 1 &&
         SSL_CTX_use_PrivateKey(context, key) == 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return context;
}

static void keep_certificate(struct tls_keys *keys)
{
    BIO *memory = BIO_new(BIO_s_mem());
    char *data;
    need(memory != NULL && PEM_write_bio_X509(memory, SSL_CTX_get0_certificate(keys->proper)) == 1);
    long len = BIO_get_mem_data(memory, &data);
    text_append(&keys->certificate, data, (size_t)len);
    BIO_free(memory);
}

enum rc tls_keys_new(const char *certificate_file, const char *key_file, struct tls_keys **out,
                     struct err *err)
{
    struct tls_keys *keys = memory_new_zeroed(1, sizeof *keys);
    keys->proper = make_context();
    keys->strange = make_context();
    *out = keys;
    if (certificate_file != NULL &&
        (SSL_CTX_use_certificate_chain_file(keys->proper, certificate_file) != 1 ||
         SSL_CTX_use_PrivateKey_file(keys->proper, key_file, SSL_FILETYPE_PEM) != 1))
        return err_set(err, RC_REJECT, "cannot use the certificate %s with the key %s: %s",
                       certificate_file, key_file, ERR_error_string(ERR_get_error(), NULL));
    keep_certificate(keys);
    return RC_OK;
}

void tls_keys_free(struct tls_keys *keys)
{
    if (keys == NULL)
        return;
    SSL_CTX_free(keys->proper);
    SSL_CTX_free(keys->strange);
    text_free(&keys->certificate);
    free(keys);
}

struct bytes tls_keys_certificate(const struct tls_keys *keys)
{
    return text_bytes(&keys->certificate);
}

struct tls_line *tls_line_new(struct tls_keys *keys, bool strange)
{
    struct tls_line *line = memory_new_zeroed(1, sizeof *line);
    line->ssl = SSL_new(strange ? keys->strange : keys->proper);
    line->in = BIO_new(BIO_s_mem());
    line->out = BIO_new(BIO_s_mem());
    need(line->ssl != NULL && line->in != NULL && line->out != NULL);
    SSL_set_bio(line->ssl, line->in, line->out);
    SSL_set_accept_state(line->ssl);
    return line;
}

void tls_line_free(struct tls_line *line)
{
    if (line == NULL)
        return;
    SSL_free(line->ssl);
    free(line);
}

static void drain(struct tls_line *line, struct text *wire)
{
    char chunk[CHUNK];
    for (int got; (got = BIO_read(line->out, chunk, sizeof chunk)) > 0;)
        text_append(wire, chunk, (size_t)got);
}

bool tls_line_feed(struct tls_line *line, struct bytes input, struct text *plain, struct text *wire)
{
    char chunk[CHUNK];
    int got;
    need(BIO_write(line->in, input.data, (int)input.len) == (int)input.len);
    ERR_clear_error();
    while ((got = SSL_read(line->ssl, chunk, sizeof chunk)) > 0)
        text_append(plain, chunk, (size_t)got);
    int why = SSL_get_error(line->ssl, got);
    drain(line, wire);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_ZERO_RETURN;
}

void tls_line_wrap(struct tls_line *line, struct bytes plain, struct text *wire)
{
    if (plain.len > 0)
        need(SSL_write(line->ssl, plain.data, (int)plain.len) == (int)plain.len);
    drain(line, wire);
}

void tls_line_end(struct tls_line *line, struct text *wire)
{
    if (!line->ended && SSL_is_init_finished(line->ssl))
        (void)SSL_shutdown(line->ssl);
    line->ended = true;
    drain(line, wire);
}
