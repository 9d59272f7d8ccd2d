/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_script.h"

#include "ws_script.h"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tls_script {
    int listener;
    unsigned port;
    pthread_t thread;
    EVP_PKEY *key;
    X509 *certificate;
    char ca_file[64];
};

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void make_certificate(struct tls_script *tls)
{
    tls->key = EVP_EC_gen("P-256");
    tls->certificate = X509_new();
    check(tls->key != NULL && tls->certificate != NULL);
    X509 *x = tls->certificate;
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, tls->key);
    X509_NAME *name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    check(names != NULL && X509_add_ext(x, names, -1) == 1);
    X509_EXTENSION_free(names);
    check(X509_sign(x, tls->key, EVP_sha256()) > 0);
    snprintf(tls->ca_file, sizeof tls->ca_file, "/tmp/tls_script_XXXXXX");
    int fd = mkstemp(tls->ca_file);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    check(file != NULL && PEM_write_X509(file, x) == 1 && fclose(file) == 0);
}

static void converse(SSL *ssl)
{
    struct script_conn conn = {0};
    char buffer[4096];
    while (script_head_len(&conn) == 0) {
        int got = SSL_read(ssl, buffer, sizeof buffer);
        if (got <= 0)
            break;
        text_append(&conn.received, buffer, (size_t)got);
    }
    if (script_head_len(&conn) > 0) {
        struct text out = {0};
        char *message = memory_new(TLS_SCRIPT_BYTES);
        memset(message, 's', TLS_SCRIPT_BYTES);
        text_append_string(&out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                 "Connection: Upgrade\r\nSec-WebSocket-Accept: ");
        ws_script_put_accept(&out, &conn);
        text_append_string(&out, "\r\n\r\n");
        ws_script_put(&out, true, 2, bytes_make(message, TLS_SCRIPT_BYTES));
        ws_script_put(&out, true, 8, bytes_of("\x03\xe8"));
        SSL_write(ssl, out.data, (int)out.len);
        /* Until the client is gone: it answers the close frame first. */
        while (SSL_read(ssl, buffer, sizeof buffer) > 0)
            continue;
        free(message);
        text_free(&out);
    }
    text_free(&conn.received);
}

static void *serve(void *arg)
{
    struct tls_script *tls = arg;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    check(context != NULL && SSL_CTX_use_certificate(context, tls->certificate) == 1 &&
          SSL_CTX_use_PrivateKey(context, tls->key) == 1);
    int fd = accept(tls->listener, NULL, NULL);
    SSL *ssl = SSL_new(context);
    check(ssl != NULL);
    if (fd >= 0 && SSL_set_fd(ssl, fd) == 1 && SSL_accept(ssl) == 1)
        converse(ssl);
    SSL_free(ssl);
    SSL_CTX_free(context);
    if (fd >= 0)
        close(fd);
    return NULL;
}

struct tls_script *tls_script_new(void)
{
    struct tls_script *tls = memory_new_zeroed(1, sizeof *tls);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    make_certificate(tls);
    tls->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(tls->listener >= 0 &&
          bind(tls->listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
          listen(tls->listener, 8) == 0 &&
          getsockname(tls->listener, (struct sockaddr *)&address, &len) == 0);
    tls->port = ntohs(address.sin_port);
    check(pthread_create(&tls->thread, NULL, serve, tls) == 0);
    return tls;
}

unsigned tls_script_port(const struct tls_script *tls)
{
    return tls->port;
}

const char *tls_script_ca_file(const struct tls_script *tls)
{
    return tls->ca_file;
}

void tls_script_free(struct tls_script *tls)
{
    shutdown(tls->listener, SHUT_RDWR);
    pthread_join(tls->thread, NULL);
    close(tls->listener);
    unlink(tls->ca_file);
    X509_free(tls->certificate);
    EVP_PKEY_free(tls->key);
    free(tls);
}
