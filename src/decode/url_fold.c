/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url_fold.h"

#include "decode/url_host.h"

#include <string.h>

#define SLUG_MIN 20 /* a last segment this long is an article's, with or without hyphens */

static bool small_label(struct bytes label)
{
    return bytes_equal_string(label, "www") || bytes_equal_string(label, "m") ||
           bytes_equal_string(label, "mobile") || bytes_equal_string(label, "amp");
}

static bool keeps_label(struct bytes host)
{
    const struct url_host_rule *rule = url_host_rule_find(host);
    return rule != NULL && (rule->flags & URL_RULE_KEEP_LABEL) != 0;
}

/* Takes www., m., mobile. and amp. off the front, as long as a name remains that somebody
 * registered; `host` grows shorter, `domain` is a part of it. */
static void drop_labels(struct bytes *host, size_t domain_len)
{
    while (host->len > domain_len) {
        size_t label = (size_t)((const char *)memchr(host->data, '.', host->len) - host->data);
        if (!small_label(url_cut(*host, 0, label)) || keeps_label(*host))
            break;
        *host = url_cut(*host, label + 1, host->len);
    }
}

/* en.m.example.org is en.example.org, with the domain as its last `domain_len` bytes. */
static void put_without_inner_m(struct bytes host, size_t domain_len, struct url_text *out)
{
    for (size_t at = 0; at < host.len;) {
        const char *dot = memchr(host.data + at, '.', host.len - at);
        size_t end = dot == NULL ? host.len : (size_t)(dot - host.data) + 1;
        bool inner = at > 0 && end + domain_len <= host.len;
        if (!inner || end - at != 2 || host.data[at] != 'm')
            url_text_put_bytes(out, url_cut(host, at, end));
        at = end;
    }
}

static void fold_host(struct bytes host, struct url_fold *fold, struct url_text *out)
{
    size_t start = out->len, domain_len = host.len;
    if (fold->host_kind == URL_HOST_NAME) {
        if (host.data[host.len - 1] == '.')
            host.len--;
        domain_len = url_host_registrable(host, fold->host_kind).len;
        drop_labels(&host, domain_len);
        put_without_inner_m(host, domain_len, out);
    } else {
        url_text_put_bytes(out, host);
    }
    fold->host = bytes_make(out->data + start, out->len - start);
    fold->rule = url_host_rule_find(fold->host);
    /* Twins are twins by name: what lies below one need not lie below the other. */
    if (fold->rule != NULL && fold->rule->same_as != NULL &&
        bytes_equal_string(fold->host, fold->rule->host)) {
        fold->host = bytes_of(fold->rule->same_as);
        fold->rule = url_host_rule_find(fold->host);
        domain_len = url_host_registrable(fold->host, fold->host_kind).len;
    }
    fold->domain = url_cut(fold->host, fold->host.len - domain_len, fold->host.len);
}

static struct bytes fold_part(struct bytes part, struct url_text *out)
{
    size_t start = out->len;
    if (part.data == NULL)
        return BYTES_ABSENT;
    url_text_put_folded(out, part);
    return bytes_make(out->data + start, out->len - start);
}

enum rc url_fold_make(const struct url *url, struct url_fold *fold, struct err *err)
{
    struct url_text out = url_text_over(fold->room, sizeof fold->room);
    /* A port of its own is a server of its own: there the scheme says something. */
    fold->https = url->https || url->port == 0;
    fold->port = url->port;
    fold->host_kind = url->host_kind;
    fold_host(url->host, fold, &out);
    fold->path = fold_part(url->path, &out);
    fold->query = fold_part(url->query, &out);
    fold->fragment = fold_part(url->fragment, &out);
    return out.full ? err_set(err, RC_REJECT, "the address is too long") : RC_OK;
}

static bool ends_with(struct bytes bytes, const char *tail)
{
    size_t len = strlen(tail);
    return bytes.len >= len && memcmp(bytes.data + bytes.len - len, tail, len) == 0;
}

/* An article's last segment: letters or digits, and digits, hyphens or a dot among them unless it
 * is long. Not every page that ends in /amp is an AMP page: some are about amplifiers. */
static bool looks_like_article(struct bytes path)
{
    size_t start = path.len;
    bool sign = false, word = false;
    while (start > 0 && path.data[start - 1] != '/') {
        char c = path.data[--start];
        sign = sign || c == '-' || c == '.' || (c >= '0' && c <= '9');
        word = word || url_letter_or_digit(c);
    }
    return word && (sign || path.len - start >= SLUG_MIN);
}

/* Cuts `tail` off when an article remains. */
static bool cut_tail(struct bytes *path, const char *tail)
{
    if (!ends_with(*path, tail))
        return false;
    struct bytes rest = url_cut(*path, 0, path->len - strlen(tail));
    if (!looks_like_article(rest))
        return false;
    *path = rest;
    return true;
}

static bool cut_amp(struct url_fold *fold, struct url_text *again)
{
    unsigned flags = fold->rule == NULL ? 0 : fold->rule->flags;
    if ((flags & URL_RULE_AMP_WORD) != 0)
        return false;
    if ((flags & URL_RULE_AMP_FOLDER) != 0 && bytes_starts_with(fold->path, "/amp/")) {
        fold->path = url_cut(fold->path, 4, fold->path.len);
        return true;
    }
    if (cut_tail(&fold->path, "/amp") || cut_tail(&fold->path, ".amp"))
        return true;
    if (!cut_tail(&fold->path, ".amp.html"))
        return false;
    /* What was cut off begins with room enough for what is put there. */
    *again = url_text_over(fold->room, sizeof fold->room);
    again->len = (size_t)(fold->path.data - fold->room) + fold->path.len;
    url_text_put_string(again, ".html");
    fold->path.len += strlen(".html");
    return true;
}

void url_fold_path(struct url_fold *fold)
{
    struct url_text again;
    do {
        while (fold->path.len > 1 && fold->path.data[fold->path.len - 1] == '/')
            fold->path.len--;
    } while (cut_amp(fold, &again));
}
