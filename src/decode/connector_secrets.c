/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_secrets.h"

#include "base/arena.h"
#include "base/secret.h"
#include "decode/connector_expand.h"

#include <string.h>

#define LEN_MIN 8 /* at least the mask's, so that cutting never needs room */

/* What is looked through; the copy is made when the first secret is found. */
struct cutting {
    struct bytes body;
    struct text *scratch;
    bool copied;
};

static void cut(struct cutting *cutting, struct bytes secret)
{
    size_t mask = strlen(SECRET_MASK), to = 0;
    const char *found;
    if (secret.len < LEN_MIN || cutting->body.len < secret.len ||
        memmem(cutting->body.data, cutting->body.len, secret.data, secret.len) == NULL)
        return;
    if (!cutting->copied) {
        text_clear(cutting->scratch);
        text_append(cutting->scratch, cutting->body.data, cutting->body.len);
        cutting->copied = true;
    }
    char *data = cutting->scratch->data;
    size_t from = 0, len = cutting->scratch->len;
    while ((found = memmem(data + from, len - from, secret.data, secret.len)) != NULL) {
        size_t before = (size_t)(found - data) - from;
        memmove(data + to, data + from, before);
        memcpy(data + to + before, SECRET_MASK, mask);
        to += before + mask;
        from += before + secret.len;
    }
    memmove(data + to, data + from, len - from);
    cutting->scratch->len = to + len - from;
    cutting->body = text_bytes(cutting->scratch);
}

/* As it may stand in JSON: a slash with or without a backslash before it. */
static void append_escaped(struct bytes secret, struct text *out)
{
    for (size_t i = 0; i < secret.len; i++) {
        if (secret.data[i] == '/' || secret.data[i] == '"' || secret.data[i] == '\\')
            text_append_char(out, '\\');
        text_append_char(out, secret.data[i]);
    }
}

static void append_cased(struct bytes secret, bool capital, struct text *out)
{
    for (size_t i = 0; i < secret.len; i++) {
        char c = secret.data[i];
        if (capital && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        else if (!capital && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        text_append_char(out, c);
    }
}

static void cut_all_forms(struct cutting *cutting, struct bytes secret)
{
    struct text form = {0};
    if (secret.len < LEN_MIN)
        return;
    cut(cutting, secret);
    connector_percent_encode(secret, &form);
    cut(cutting, text_bytes(&form));
    text_clear(&form);
    append_escaped(secret, &form);
    cut(cutting, text_bytes(&form));
    for (int capital = 0; capital < 2; capital++) {
        text_clear(&form);
        append_cased(secret, capital != 0, &form);
        cut(cutting, text_bytes(&form));
    }
    text_free(&form);
}

struct bytes connector_without_secrets(const struct connector *connector,
                                       const struct connector_vars *vars,
                                       const struct connector_http *http, struct bytes body,
                                       struct text *scratch)
{
    struct cutting cutting = {body, scratch, false};
    cut_all_forms(&cutting, vars->api_key);
    cut_all_forms(&cutting, vars->api_secret);
    for (size_t i = 0; i < http->header_count; i++) {
        const char *name = http->header_text.data + http->headers[i].name;
        const char *value = http->header_text.data + http->headers[i].value;
        const char *blank = strrchr(value, ' ');
        if (connector_header_is_secret(connector, name))
            cut_all_forms(&cutting, bytes_of(blank == NULL ? value : blank + 1));
    }
    if (!cutting.copied)
        return body;
    memset(text_reserve(scratch, ARENA_PAD), 0, ARENA_PAD);
    return text_bytes(scratch);
}
