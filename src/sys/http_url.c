/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/http_url.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

static char *take_part(CURLU *parsed, CURLUPart part, unsigned flags)
{
    char *value = NULL, *copy = NULL;
    if (curl_url_get(parsed, part, &value, flags) == CURLUE_OK)
        copy = memory_copy_string(value);
    curl_free(value);
    return copy;
}

static char *make_origin(const char *scheme, const char *host, const char *port)
{
    struct text origin = {0};
    text_appendf(&origin, "%s://%s:%s", scheme, host, port);
    for (char *c = origin.data; *c != '\0'; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    return origin.data;
}

/* Escapes in a name were undone by the library, which lets one of these through. */
static bool is_seen(const char *host)
{
    for (; *host != '\0'; host++)
        if ((unsigned char)*host <= ' ' || *host == 0x7f)
            return false;
    return true;
}

static enum rc check(const char *scheme, const char *host, const char *port,
                     const struct http_url_rules *rules, struct err *err)
{
    if (scheme == NULL || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        return err_set(err, RC_REJECT, "the address is neither http nor https");
    if (host == NULL || port == NULL || !is_seen(host))
        return err_set(err, RC_REJECT, "the address names no host");
    if (rules->stranger && !rules->any_port && strcmp(port, "80") != 0 && strcmp(port, "443") != 0)
        return err_set(err, RC_REJECT, "port %s is not allowed for addresses of strangers", port);
    return RC_OK;
}

/* A number in escapes is a name when it is read first and an address when it is read again. */
static bool is_named_once(const char *text, const char *host, unsigned flags)
{
    CURLU *parsed = curl_url();
    if (parsed == NULL)
        abort();
    char *again = NULL;
    if (curl_url_set(parsed, CURLUPART_URL, text, flags) == CURLUE_OK)
        again = take_part(parsed, CURLUPART_HOST, 0);
    bool same = again != NULL && strcmp(again, host) == 0;
    free(again);
    curl_url_cleanup(parsed);
    return same;
}

enum rc http_url_parse(const char *url, const char *base, const struct http_url_rules *rules,
                       struct http_url *out, struct err *err)
{
    unsigned flags = CURLU_URLENCODE | (rules->stranger ? CURLU_DISALLOW_USER : 0u);
    CURLU *parsed = curl_url();
    if (parsed == NULL)
        abort();
    CURLUcode code = CURLUE_OK;
    if (base != NULL)
        code = curl_url_set(parsed, CURLUPART_URL, base, flags);
    if (code == CURLUE_OK)
        code = curl_url_set(parsed, CURLUPART_URL, url, flags);
    char *scheme = NULL, *host = NULL, *port = NULL, *text = NULL;
    enum rc rc;
    if (code != CURLUE_OK) {
        rc = err_set(err, RC_REJECT, "not a usable address: %s", curl_url_strerror(code));
    } else {
        scheme = take_part(parsed, CURLUPART_SCHEME, 0);
        host = take_part(parsed, CURLUPART_HOST, 0);
        port = take_part(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT);
        text = take_part(parsed, CURLUPART_URL, 0);
        rc = check(scheme, host, port, rules, err);
    }
    if (rc == RC_OK && (text == NULL || !is_named_once(text, host, flags)))
        rc = err_set(err, RC_REJECT, "the address names its host in a way that can be read in two");
    if (rc == RC_OK) {
        *out = (struct http_url){text, make_origin(scheme, host, port), host};
        text = host = NULL;
    }
    free(text);
    free(scheme);
    free(host);
    free(port);
    curl_url_cleanup(parsed);
    return rc;
}

void http_url_deinit(struct http_url *url)
{
    free(url->text);
    free(url->origin);
    free(url->host);
    *url = (struct http_url){0};
}
