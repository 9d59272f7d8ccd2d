/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_script.h"

#include "test_certificate.h"
#include "ws_script.h"

#include <netinet/in.h>
#include <openssl/ssl.h>
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
    struct test_certificate certificate;
};

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void put_answer(struct text *out, struct script_conn *conn)
{
    char *message = memory_new(TLS_SCRIPT_BYTES);
    memset(message, 's', TLS_SCRIPT_BYTES);
    if (script_heard(conn, "Upgrade: websocket")) {
        text_append_string(out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Accept: ");
        ws_script_put_accept(out, conn);
        text_append_string(out, "\r\n\r\n");
        ws_script_put(out, true, 2, bytes_make(message, TLS_SCRIPT_BYTES));
        ws_script_put(out, true, 8, bytes_of("\x03\xe8"));
    } else {
        text_appendf(out, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n",
                     TLS_SCRIPT_BYTES);
        text_append(out, message, TLS_SCRIPT_BYTES);
    }
    free(message);
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
        put_answer(&out, &conn);
        SSL_write(ssl, out.data, (int)out.len);
        /* Until the client is gone: it answers the close frame first. */
        while (SSL_read(ssl, buffer, sizeof buffer) > 0)
            continue;
        text_free(&out);
    }
    text_free(&conn.received);
}

static void *serve(void *arg)
{
    struct tls_script *tls = arg;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    check(context != NULL &&
          SSL_CTX_use_certificate_file(context, tls->certificate.file, SSL_FILETYPE_PEM) == 1 &&
          SSL_CTX_use_PrivateKey_file(context, tls->certificate.key_file, SSL_FILETYPE_PEM) == 1);
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
    test_certificate_make(&tls->certificate);
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
    return tls->certificate.file;
}

void tls_script_free(struct tls_script *tls)
{
    shutdown(tls->listener, SHUT_RDWR);
    pthread_join(tls->thread, NULL);
    close(tls->listener);
    test_certificate_remove(&tls->certificate);
    free(tls);
}
