/* SPDX-License-Identifier: Apache-2.0 */
#include "script_server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct conn {
    struct script_conn script; /* first */
    uv_tcp_t tcp;
    uv_shutdown_t shutdown;
    struct script_server *server;
    struct conn *next;
    bool closing;
};

struct script_server {
    uv_tcp_t tcp;
    script_fn *fn;
    void *arg;
    struct conn *first;
    size_t accepted;
    unsigned port;
};

struct write {
    uv_write_t write;
    char *data;
};

static void free_conn(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    if (conn->server != NULL)
        for (struct conn **at = &conn->server->first; *at != NULL; at = &(*at)->next)
            if (*at == conn) {
                *at = conn->next;
                break;
            }
    text_free(&conn->script.received);
    free(conn);
}

static void close_conn(struct conn *conn, bool reset)
{
    if (conn->closing)
        return;
    conn->closing = true;
    if (reset)
        uv_tcp_close_reset(&conn->tcp, free_conn);
    else
        uv_close((uv_handle_t *)&conn->tcp, free_conn);
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle;
    *buf = uv_buf_init(memory_new(suggested), (unsigned)suggested);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct conn *conn = stream->data;
    if (got > 0)
        text_append(&conn->script.received, buf->base, (size_t)got);
    free(buf->base);
    if (got == 0)
        return;
    conn->server->fn(&conn->script, got < 0);
    if (got < 0)
        close_conn(conn, false);
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct script_server *server = stream->data;
    assert(status == 0);
    struct conn *conn = memory_new_zeroed(1, sizeof *conn);
    conn->server = server;
    conn->script.arg = server->arg;
    conn->script.number = server->accepted++;
    conn->next = server->first;
    server->first = conn;
    uv_tcp_init(stream->loop, &conn->tcp);
    conn->tcp.data = conn->shutdown.data = conn;
    int rc = uv_accept(stream, (uv_stream_t *)&conn->tcp);
    assert(rc == 0);
    (void)rc;
    uv_tcp_nodelay(&conn->tcp, 1);
    uv_read_start((uv_stream_t *)&conn->tcp, give_room, on_read);
}

struct script_server *script_server_new(struct loop *loop, script_fn *fn, void *arg)
{
    struct script_server *server = memory_new_zeroed(1, sizeof *server);
    struct sockaddr_in address;
    int len = sizeof address;
    /* A proxy of the machine the test runs on would carry it away from loopback. */
    static const char *const proxies[] = {"http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY",
                                          "ALL_PROXY"};
    for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++)
        unsetenv(proxies[i]);
    server->fn = fn;
    server->arg = arg;
    server->tcp.data = server;
    uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_init(loop_uv(loop), &server->tcp) != 0 ||
        uv_tcp_bind(&server->tcp, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&server->tcp, 64, on_connection) != 0 ||
        uv_tcp_getsockname(&server->tcp, (struct sockaddr *)&address, &len) != 0)
        abort();
    server->tcp.data = server;
    server->port = ntohs(address.sin_port);
    return server;
}

static void free_server(uv_handle_t *handle)
{
    free(handle->data);
}

void script_server_free(struct script_server *server)
{
    for (struct conn *conn = server->first; conn != NULL; conn = conn->next) {
        conn->server = NULL;
        close_conn(conn, false);
    }
    uv_close((uv_handle_t *)&server->tcp, free_server);
}

unsigned script_server_port(const struct script_server *server)
{
    return server->port;
}

size_t script_server_accepted(const struct script_server *server)
{
    return server->accepted;
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    struct write *done = write->data;
    free(done->data);
    free(done);
}

void script_send(struct script_conn *script, struct bytes data)
{
    struct conn *conn = (struct conn *)script;
    if (conn->closing || data.len == 0)
        return;
    struct write *write = memory_new_zeroed(1, sizeof *write);
    write->write.data = write;
    write->data = memory_new(data.len);
    memcpy(write->data, data.data, data.len);
    uv_buf_t buf = uv_buf_init(write->data, (unsigned)data.len);
    if (uv_write(&write->write, (uv_stream_t *)&conn->tcp, &buf, 1, on_written) != 0)
        on_written(&write->write, -1);
}

void script_say(struct script_conn *conn, const char *string)
{
    script_send(conn, bytes_of(string));
}

size_t script_unsent(const struct script_conn *script)
{
    const struct conn *conn = (const struct conn *)script;
    return uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp);
}

void script_take(struct script_conn *conn, size_t len)
{
    assert(len <= conn->received.len);
    memmove(conn->received.data, conn->received.data + len, conn->received.len - len);
    conn->received.len -= len;
}

size_t script_head_len(const struct script_conn *conn)
{
    const char *end = conn->received.len == 0
                          ? NULL
                          : memmem(conn->received.data, conn->received.len, "\r\n\r\n", 4);
    return end == NULL ? 0 : (size_t)(end - conn->received.data) + 4;
}

bool script_heard(const struct script_conn *conn, const char *words)
{
    return conn->received.len > 0 &&
           memmem(conn->received.data, conn->received.len, words, strlen(words)) != NULL;
}

static void on_shutdown(uv_shutdown_t *shutdown, int status)
{
    (void)status;
    close_conn(shutdown->data, false);
}

void script_hang_up(struct script_conn *script)
{
    struct conn *conn = (struct conn *)script;
    if (!conn->closing && uv_shutdown(&conn->shutdown, (uv_stream_t *)&conn->tcp, on_shutdown) != 0)
        close_conn(conn, false);
}

void script_reset(struct script_conn *script)
{
    close_conn((struct conn *)script, true);
}
