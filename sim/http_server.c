/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/http_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEAD_BYTES_MAX 1048576
#define BODY_BYTES_MAX 16777216
#define BACKLOG        128

struct http_exchange {
    struct http_server *server;
    struct peer *peer; /* NULL once taken over */
    struct http_exchange *next, **back;
    struct text input;
    struct http_request request;
    int status;
    bool answered, keep_alive, busy;
};

struct http_server {
    uv_tcp_t tcp;
    struct http_route *routes;
    void *arg;
    http_watch_fn *watch;
    struct tls_keys *keys; /* NULL: plain */
    http_manner_fn *ask_manner;
    struct http_exchange *exchanges;
};

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {301, "Moved Permanently"},
                   {302, "Found"},
                   {307, "Temporary Redirect"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {410, "Gone"},
                   {429, "Too Many Requests"},
                   {500, "Internal Server Error"},
                   {502, "Bad Gateway"},
                   {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Status";
}

const struct http_request *http_exchange_request(const struct http_exchange *exchange)
{
    return &exchange->request;
}

struct bytes http_request_header(const struct http_request *request, const char *name)
{
    for (unsigned i = 0; i < request->header_count; i++) {
        struct bytes have = request->headers[i].name;
        if (have.len == strlen(name) && strncasecmp(have.data, name, have.len) == 0)
            return request->headers[i].value;
    }
    return BYTES_ABSENT;
}

void http_reply(struct http_exchange *exchange, int status, const char *type, const char *headers,
                struct bytes body)
{
    struct text *out = peer_out(exchange->peer);
    assert(!exchange->answered);
    exchange->answered = true;
    exchange->status = status;
    text_appendf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s\r\n",
                 status, reason_of(status), type, body.len, headers == NULL ? "" : headers,
                 exchange->keep_alive ? "" : "Connection: close\r\n");
    text_append(out, body.data, body.len);
    if (exchange->keep_alive)
        peer_flush(exchange->peer);
    else
        peer_finish(exchange->peer);
}

void http_reply_raw(struct http_exchange *exchange, int status, struct bytes answer, bool close)
{
    assert(!exchange->answered);
    exchange->answered = true;
    exchange->status = status;
    exchange->keep_alive = exchange->keep_alive && !close;
    text_append(peer_out(exchange->peer), answer.data, answer.len);
    if (exchange->keep_alive)
        peer_flush(exchange->peer);
    else
        peer_finish(exchange->peer);
}

struct peer *http_exchange_peer(const struct http_exchange *exchange)
{
    return exchange->peer;
}

void http_reply_text(struct http_exchange *exchange, int status, const char *text)
{
    http_reply(exchange, status, "text/plain; charset=utf-8", NULL, bytes_of(text));
}

struct peer *http_take_over(struct http_exchange *exchange)
{
    struct peer *peer = exchange->peer;
    assert(!exchange->answered && peer != NULL);
    exchange->answered = true;
    exchange->status = 101;
    exchange->peer = NULL;
    return peer;
}

void http_drop(struct http_exchange *exchange)
{
    exchange->answered = true;
    exchange->keep_alive = false;
    exchange->status = 0;
    peer_reset(exchange->peer);
}

static void free_exchange(struct http_exchange *exchange)
{
    *exchange->back = exchange->next;
    if (exchange->next != NULL)
        exchange->next->back = exchange->back;
    text_free(&exchange->input);
    free(exchange);
}

static void refuse(struct http_exchange *exchange, int status, const char *why)
{
    exchange->keep_alive = false;
    http_reply_text(exchange, status, why);
}

static bool matches(struct bytes path, const char *route)
{
    size_t len = strlen(route);
    if (len > 0 && route[len - 1] == '*')
        return path.len >= len - 1 && memcmp(path.data, route, len - 1) == 0;
    return bytes_equal_string(path, route);
}

static void dispatch(struct http_exchange *exchange)
{
    const struct http_request *request = &exchange->request;
    bool known = false;
    struct http_route *route = exchange->server->routes;
    for (; route->path != NULL; route++) {
        if (!matches(request->path, route->path))
            continue;
        known = true;
        if (bytes_equal_string(request->method, route->method))
            break;
    }
    route->requests++;
    if (route->handler != NULL && (route->path != NULL || !known))
        route->handler(exchange, exchange->server->arg);
    if (!exchange->answered)
        http_reply_text(exchange, known ? 405 : 404,
                        known ? "method not allowed\n" : "not found\n");
    if (exchange->server->watch != NULL)
        exchange->server->watch(exchange->server->arg, request, exchange->status);
}

/* Splits one header line; false when it is none. */
static bool read_header(struct http_request *request, struct bytes line)
{
    const char *colon = memchr(line.data, ':', line.len);
    if (colon == NULL || colon == line.data || request->header_count == HTTP_HEADERS_MAX)
        return false;
    size_t name_len = (size_t)(colon - line.data);
    const char *value = colon + 1, *end = line.data + line.len;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    request->headers[request->header_count].name = bytes_make(line.data, name_len);
    request->headers[request->header_count].value = bytes_make(value, (size_t)(end - value));
    request->header_count++;
    return true;
}

static bool read_request_line(struct http_request *request, struct bytes line)
{
    const char *end = line.data + line.len;
    const char *space = memchr(line.data, ' ', line.len);
    if (space == NULL || line.len < 14 || memcmp(end - 9, " HTTP/1.1", 9) != 0)
        return false;
    const char *target = space + 1, *target_end = end - 9;
    if (target >= target_end || *target != '/')
        return false;
    const char *mark = memchr(target, '?', (size_t)(target_end - target));
    const char *path_end = mark == NULL ? target_end : mark;
    request->method = bytes_make(line.data, (size_t)(space - line.data));
    request->path = bytes_make(target, (size_t)(path_end - target));
    request->query = BYTES_ABSENT;
    if (mark != NULL)
        request->query = bytes_make(mark + 1, (size_t)(target_end - mark - 1));
    return true;
}

static bool read_head(struct http_request *request, struct bytes head)
{
    request->header_count = 0;
    for (bool first = true; head.len > 0; first = false) {
        const char *end = memmem(head.data, head.len, "\r\n", 2);
        if (end == NULL)
            return false;
        struct bytes line = bytes_make(head.data, (size_t)(end - head.data));
        head = bytes_make(end + 2, head.len - line.len - 2);
        if (first ? !read_request_line(request, line) : !read_header(request, line))
            return false;
    }
    return true;
}

/* Reads one whole request from the input; returns its length, 0 when more bytes are needed or the
 * request was refused. */
static size_t read_request(struct http_exchange *exchange)
{
    struct http_request *request = &exchange->request;
    struct text *input = &exchange->input;
    const char *end = input->len == 0 ? NULL : memmem(input->data, input->len, "\r\n\r\n", 4);
    uint64_t body_len = 0;
    if (end == NULL) {
        if (input->len > HEAD_BYTES_MAX)
            refuse(exchange, 431, "request head too large\n");
        return 0;
    }
    size_t head_len = (size_t)(end - input->data) + 4;
    if (!read_head(request, bytes_make(input->data, head_len - 2))) {
        refuse(exchange, 400, "bad request\n");
        return 0;
    }
    struct bytes length = http_request_header(request, "Content-Length");
    if (http_request_header(request, "Transfer-Encoding").data != NULL) {
        refuse(exchange, 411, "a body needs a Content-Length\n");
        return 0;
    }
    if (length.data != NULL && (!bytes_to_u64(length, &body_len) || body_len > BODY_BYTES_MAX)) {
        refuse(exchange, 413, "body too large\n");
        return 0;
    }
    if (input->len - head_len < body_len)
        return 0;
    request->body = bytes_make(input->data + head_len, (size_t)body_len);
    struct bytes connection = http_request_header(request, "Connection");
    exchange->keep_alive = !(connection.len == 5 && strncasecmp(connection.data, "close", 5) == 0);
    return head_len + (size_t)body_len;
}

static void serve_input(struct http_exchange *exchange)
{
    if (exchange->busy)
        return;
    exchange->busy = true;
    for (;;) {
        exchange->answered = false;
        size_t used = read_request(exchange);
        if (used == 0)
            break;
        dispatch(exchange);
        if (exchange->peer == NULL) {
            free_exchange(exchange);
            return;
        }
        if (!exchange->keep_alive)
            break;
        memmove(exchange->input.data, exchange->input.data + used, exchange->input.len - used);
        exchange->input.len -= used;
    }
    exchange->busy = false;
}

static void on_bytes(void *arg, struct bytes input)
{
    struct http_exchange *exchange = arg;
    text_append(&exchange->input, input.data, input.len);
    serve_input(exchange);
}

static void on_drained(void *arg)
{
    (void)arg;
}

static void on_closed(void *arg)
{
    free_exchange(arg);
}

static const struct peer_handler http_peer = {
    .on_bytes = on_bytes, .on_drained = on_drained, .on_closed = on_closed};

static void on_connection(uv_stream_t *listener, int status)
{
    struct http_server *server = listener->data;
    if (status != 0)
        return;
    struct http_exchange *exchange = memory_new_zeroed(1, sizeof *exchange);
    exchange->server = server;
    exchange->next = server->exchanges;
    exchange->back = &server->exchanges;
    if (exchange->next != NULL)
        exchange->next->back = &exchange->next;
    server->exchanges = exchange;
    enum tls_manner manner = server->keys == NULL ? TLS_PROPER : server->ask_manner(server->arg);
    exchange->peer = peer_accept(listener, &http_peer, exchange, server->keys, manner);
    if (exchange->peer == NULL)
        free_exchange(exchange);
}

enum rc http_server_start(struct http_server **out, uv_loop_t *loop, unsigned port,
                          struct http_route *routes, void *arg, struct err *err)
{
    struct http_server *server = memory_new_zeroed(1, sizeof *server);
    struct sockaddr_in address;
    server->routes = routes;
    server->arg = arg;
    uv_tcp_init(loop, &server->tcp);
    server->tcp.data = server;
    *out = server;
    uv_ip4_addr("127.0.0.1", (int)port, &address);
    int rc = uv_tcp_bind(&server->tcp, (const struct sockaddr *)&address, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&server->tcp, BACKLOG, on_connection);
    if (rc != 0)
        return err_set(err, RC_FATAL, "cannot listen on 127.0.0.1:%u: %s", port, uv_strerror(rc));
    return RC_OK;
}

void http_server_secure(struct http_server *server, struct tls_keys *keys, http_manner_fn *ask)
{
    server->keys = keys;
    server->ask_manner = ask;
}

void http_server_watch(struct http_server *server, http_watch_fn *watch)
{
    server->watch = watch;
}

unsigned http_server_port(const struct http_server *server)
{
    struct sockaddr_in address;
    int len = sizeof address;
    if (uv_tcp_getsockname(&server->tcp, (struct sockaddr *)&address, &len) != 0)
        return 0;
    return ntohs(address.sin_port);
}

void http_server_stop(struct http_server *server)
{
    uv_close((uv_handle_t *)&server->tcp, NULL);
    for (struct http_exchange *at = server->exchanges; at != NULL; at = at->next)
        peer_reset(at->peer);
}

void http_server_free(struct http_server *server)
{
    assert(server->exchanges == NULL);
    free(server);
}
