/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/ws_upgrade.h"

#include "sys/http_headers.h"

#include <assert.h>
#include <ctype.h>
#include <curl/curl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455, 1.3 */

void ws_upgrade_accept(struct bytes key, char accept[WS_UPGRADE_KEY_SIZE])
{
    char joined[WS_UPGRADE_KEY_SIZE + sizeof GUID];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned digest_len = 0;
    assert(key.len < WS_UPGRADE_KEY_SIZE);
    memcpy(joined, key.data, key.len);
    memcpy(joined + key.len, GUID, sizeof GUID - 1);
    if (EVP_Digest(joined, key.len + sizeof GUID - 1, digest, &digest_len, EVP_sha1(), NULL) != 1)
        abort();
    EVP_EncodeBlock((unsigned char *)accept, digest, (int)digest_len);
}

void ws_upgrade_init(struct ws_upgrade *upgrade, const uint8_t nonce[16])
{
    upgrade->protocol[0] = '\0';
    EVP_EncodeBlock((unsigned char *)upgrade->key, nonce, 16);
    ws_upgrade_accept(bytes_of(upgrade->key), upgrade->accept);
}

/* ---- request ---- */

enum rc ws_upgrade_url(const char *url, struct text *http_url, struct err *err)
{
    enum rc rc = RC_OK;
    const char *rest;
    text_clear(http_url);
    if (strncasecmp(url, "wss://", 6) == 0) {
        text_append_string(http_url, "https://");
        rest = url + 6;
    } else if (strncasecmp(url, "ws://", 5) == 0) {
        text_append_string(http_url, "http://");
        rest = url + 5;
    } else {
        return err_set(err, RC_REJECT, "the address begins with neither ws:// nor wss://");
    }
    text_append_string(http_url, rest);
    CURLU *parsed = curl_url();
    if (parsed == NULL)
        abort();
    CURLUcode code = curl_url_set(parsed, CURLUPART_URL, text_string(http_url),
                                  CURLU_DISALLOW_USER | CURLU_URLENCODE);
    if (code != CURLUE_OK)
        rc = err_set(err, RC_REJECT, "not a usable address: %s", curl_url_strerror(code));
    curl_url_cleanup(parsed);
    return rc;
}

static void append_part(CURLU *parsed, CURLUPart part, const char *prefix, struct text *out)
{
    char *value = NULL;
    if (curl_url_get(parsed, part, &value, CURLU_URLENCODE) == CURLUE_OK) {
        text_append_string(out, prefix);
        text_append_string(out, value);
    }
    curl_free(value);
}

static bool one_line(const char *text)
{
    return strpbrk(text, "\r\n") == NULL;
}

enum rc ws_upgrade_write(struct ws_upgrade *upgrade, const char *http_url,
                         const struct ws_request *request, struct text *out, struct err *err)
{
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (!one_line(header->name) || !one_line(header->value))
            return err_set(err, RC_REJECT, "a request header contains a line break");
        if (strcasecmp(header->name, "Sec-WebSocket-Protocol") == 0 &&
            strlen(header->value) < sizeof upgrade->protocol)
            memcpy(upgrade->protocol, header->value, strlen(header->value) + 1);
    }
    CURLU *parsed = curl_url();
    if (parsed == NULL ||
        curl_url_set(parsed, CURLUPART_URL, http_url, CURLU_URLENCODE) != CURLUE_OK)
        abort();
    text_append_string(out, "GET ");
    append_part(parsed, CURLUPART_PATH, "", out);
    append_part(parsed, CURLUPART_QUERY, "?", out);
    text_append_string(out, " HTTP/1.1\r\nHost: ");
    append_part(parsed, CURLUPART_HOST, "", out);
    append_part(parsed, CURLUPART_PORT, ":", out);
    curl_url_cleanup(parsed);
    text_appendf(out,
                 "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: %s\r\nUser-Agent: tidemark/" TIDEMARK_VERSION "\r\n",
                 upgrade->key);
    for (size_t i = 0; i < request->header_count; i++)
        text_appendf(out, "%s: %s\r\n", request->headers[i].name, request->headers[i].value);
    text_append_string(out, "\r\n");
    return RC_OK;
}

/* ---- answer ---- */

static struct bytes trim(struct bytes text)
{
    while (text.len > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = bytes_make(text.data + 1, text.len - 1);
    while (text.len > 0 && strchr(" \t\r", text.data[text.len - 1]) != NULL)
        text.len--;
    return text;
}

/* The next line of `rest` without its line break, and `rest` moved past it. */
static struct bytes take_line(struct bytes *rest)
{
    const char *end = memchr(rest->data, '\n', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->data);
    struct bytes line = bytes_make(rest->data, len);
    size_t used = end == NULL ? len : len + 1;
    *rest = bytes_make(rest->data + used, rest->len - used);
    if (line.len > 0 && line.data[line.len - 1] == '\r')
        line.len--;
    return line;
}

static struct bytes find_header(struct bytes head, const char *name)
{
    size_t name_len = strlen(name);
    take_line(&head);
    while (head.len > 0) {
        struct bytes line = take_line(&head);
        if (line.len > name_len && line.data[name_len] == ':' &&
            strncasecmp(line.data, name, name_len) == 0)
            return trim(bytes_make(line.data + name_len + 1, line.len - name_len - 1));
    }
    return BYTES_ABSENT;
}

static bool equals_any_case(struct bytes text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

static bool has_token(struct bytes list, const char *word)
{
    while (list.len > 0) {
        const char *comma = memchr(list.data, ',', list.len);
        size_t len = comma == NULL ? list.len : (size_t)(comma - list.data);
        if (equals_any_case(trim(bytes_make(list.data, len)), word))
            return true;
        size_t used = comma == NULL ? len : len + 1;
        list = bytes_make(list.data + used, list.len - used);
    }
    return false;
}

/* The size at the head of a chunk; what follows the digits is an extension nobody needs. */
static size_t read_hex(struct bytes line)
{
    size_t size = 0;
    for (size_t i = 0; i < line.len && i < 8 && isxdigit((unsigned char)line.data[i]); i++) {
        int digit = tolower((unsigned char)line.data[i]);
        size = size * 16 + (size_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return size;
}

/* Copies what a chunked body holds, as far as it came; true when its end was seen. */
static bool join_chunks(struct bytes raw, struct text *body)
{
    while (raw.len > 0 && body->len < WS_UPGRADE_BODY_MAX) {
        if (memchr(raw.data, '\n', raw.len) == NULL)
            return false;
        struct bytes line = take_line(&raw);
        size_t size = read_hex(line);
        if (size == 0)
            return true;
        size_t here = size < raw.len ? size : raw.len;
        text_append(body, raw.data, here);
        raw = bytes_make(raw.data + here, raw.len - here);
        take_line(&raw);
    }
    return body->len >= WS_UPGRADE_BODY_MAX;
}

/* True when as much of the refusal's body is in `body` as we want or will get. */
static bool collect_body(struct bytes head, struct bytes raw, struct text *body)
{
    uint64_t length = 0;
    bool whole;
    text_clear(body);
    if (has_token(find_header(head, "transfer-encoding"), "chunked")) {
        whole = join_chunks(raw, body);
    } else {
        text_append(body, raw.data, raw.len);
        bool told = bytes_to_u64(find_header(head, "content-length"), &length);
        whole = raw.len >= WS_UPGRADE_BODY_MAX || (told && raw.len >= length);
    }
    if (body->len > WS_UPGRADE_BODY_MAX)
        body->len = WS_UPGRADE_BODY_MAX;
    return whole;
}

static enum rc check_switch(const struct ws_upgrade *upgrade, struct bytes head, struct err *err)
{
    if (!has_token(find_header(head, "upgrade"), "websocket") ||
        !has_token(find_header(head, "connection"), "upgrade"))
        return err_set(err, RC_RETRY, "the server said 101 but did not switch to websocket");
    if (!bytes_equal_string(find_header(head, "sec-websocket-accept"), upgrade->accept))
        return err_set(err, RC_RETRY, "the server's Sec-WebSocket-Accept does not match our key");
    struct bytes protocol = find_header(head, "sec-websocket-protocol");
    if (find_header(head, "sec-websocket-extensions").len > 0 ||
        (protocol.len > 0 && !bytes_equal_string(protocol, upgrade->protocol)))
        return err_set(err, RC_RETRY, "the server chose an extension that we did not offer");
    return RC_OK;
}

static bool read_status(struct bytes answer, int *status)
{
    uint64_t number;
    if (answer.len < 13 || !bytes_starts_with(answer, "HTTP/1.") || answer.data[8] != ' ' ||
        !bytes_to_u64(bytes_make(answer.data + 9, 3), &number) || number < 100)
        return false;
    *status = (int)number;
    return true;
}

enum rc ws_upgrade_read(const struct ws_upgrade *upgrade, struct bytes answer, bool ended,
                        size_t *head_len, int *status, struct text *body, struct err *err)
{
    static const char start[] = "HTTP/1.";
    *status = 0;
    size_t seen = answer.len < sizeof start - 1 ? answer.len : sizeof start - 1;
    if (answer.len > 0 && memcmp(answer.data, start, seen) != 0)
        return err_set(err, RC_RETRY, "the answer to the upgrade is not HTTP/1.1");
    const char *end = answer.len == 0 ? NULL : memmem(answer.data, answer.len, "\r\n\r\n", 4);
    if (end == NULL) {
        if (answer.len >= WS_UPGRADE_HEAD_MAX)
            return err_set(err, RC_RETRY, "the answer's head is over %d bytes",
                           WS_UPGRADE_HEAD_MAX);
        if (ended)
            return err_set(err, RC_RETRY, "the server hung up during the upgrade");
        return RC_AGAIN;
    }
    *head_len = (size_t)(end - answer.data) + 4;
    if (!read_status(answer, status))
        return err_set(err, RC_RETRY, "the answer to the upgrade has no HTTP status");
    struct bytes head = bytes_make(answer.data, *head_len);
    if (*status == 101)
        return check_switch(upgrade, head, err);
    struct bytes raw = bytes_make(answer.data + *head_len, answer.len - *head_len);
    bool enough = collect_body(head, raw, body) || raw.len >= WS_UPGRADE_HEAD_MAX;
    if (!enough && !ended)
        return RC_AGAIN;
    return err_set(err, RC_RETRY, "the server refused the upgrade with HTTP status %d", *status);
}

void ws_upgrade_tell_wait(struct bytes answer, struct runtime *runtime,
                          const struct ws_events *events, void *arg)
{
    const char *end = answer.len == 0 ? NULL : memmem(answer.data, answer.len, "\r\n\r\n", 4);
    if (end == NULL || events->refused == NULL)
        return;
    struct bytes head = bytes_make(answer.data, (size_t)(end - answer.data) + 2);
    struct bytes after = find_header(head, "retry-after"), date = find_header(head, "date");
    struct text headers = {0};
    text_append_string(&headers, "retry-after: ");
    text_append(&headers, after.data, after.len);
    text_append_string(&headers, "\r\ndate: ");
    text_append(&headers, date.data, date.len);
    int64_t wait_ms =
        http_headers_retry_after(text_bytes(&headers), runtime->ops->wall_us(runtime));
    text_free(&headers);
    if (wait_ms >= 0)
        events->refused(arg, wait_ms);
}
