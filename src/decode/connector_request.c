/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_request.h"

#include "base/secret.h"
#include "decode/connector_expand.h"
#include "decode/connector_sign.h"

#include <string.h>
#include <strings.h>

struct connector_vars connector_vars_first(const struct connector_stream *stream,
                                           struct bytes platform, struct bytes account)
{
    bool numbered = stream->page.by == PAGE_NUMBER || stream->page.by == PAGE_KEYSET;
    bool ranged = stream->page.by == PAGE_RANGE;
    return (struct connector_vars){
        .account = account,
        .platform = platform,
        .from = ranged ? 0 : -1,
        .to = ranged ? stream->page.size - 1 : -1,
        .page = numbered ? stream->page.first : -1,
        .offset = stream->page.by == PAGE_OFFSET ? stream->page.first : -1,
        .size = stream->page.size > 0 ? stream->page.size : -1,
        .now_ms = -1,
        .nonce = -1,
        .since_s = -1,
    };
}

/* ---- headers ---- */

enum rc connector_add_header(struct connector_http *http, const char *name, struct bytes value,
                             struct err *err)
{
    if (http->header_count == CONNECTOR_HEADERS_MAX)
        return err_set(err, RC_REJECT, "a request has at most %d headers", CONNECTOR_HEADERS_MAX);
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.data[i] < ' ' || value.data[i] == 0x7f)
            return err_set(err, RC_REJECT, "the header %s would have a control character in it",
                           name);
    struct connector_header *header = &http->headers[http->header_count++];
    header->name = http->header_text.len;
    text_append(&http->header_text, name, strlen(name) + 1);
    header->value = http->header_text.len;
    text_append(&http->header_text, value.data, value.len);
    text_append(&http->header_text, "", 1);
    return RC_OK;
}

static enum rc add_headers(const struct connector_scope *scope,
                           const struct connector_request *request, struct connector_http *http,
                           struct err *err)
{
    static const char *const types[] = {[BODY_FORM] = "application/x-www-form-urlencoded",
                                        [BODY_JSON] = "application/json",
                                        [BODY_JSONRPC] = "application/json"};
    struct text value = {0};
    enum rc rc = RC_OK;
    if (request->body_kind != BODY_NONE)
        rc = connector_add_header(http, "Content-Type", bytes_of(types[request->body_kind]), err);
    const struct connector_value *at = request->headers == NULL ? NULL : request->headers->first;
    for (; rc == RC_OK && at != NULL; at = at->next) {
        text_clear(&value);
        if (connector_expand(scope, &at->text, false, &value))
            rc = connector_add_header(http, at->key, text_bytes(&value), err);
    }
    text_free(&value);
    return rc;
}

/* ---- URL and body ---- */

/* "a=1&b=2" behind what is there; `join` stands before the first pair. */
static void append_pairs(const struct connector_scope *scope, const struct connector_value *map,
                         const char *join, struct text *out)
{
    const struct connector_value *at = map == NULL ? NULL : map->first;
    for (; at != NULL; at = at->next) {
        size_t begin = out->len;
        text_append_string(out, join);
        connector_percent_encode(bytes_of(at->key), out);
        text_append_char(out, '=');
        struct text value = {0};
        if (connector_expand(scope, &at->text, false, &value)) {
            connector_percent_encode(text_bytes(&value), out);
            join = "&";
        } else {
            out->len = begin;
            out->data[begin] = '\0';
        }
        text_free(&value);
    }
}

static void append_body(const struct connector_scope *scope,
                        const struct connector_request *request, struct text *out)
{
    if (request->body_kind == BODY_FORM) {
        append_pairs(scope, request->body, "", out);
    } else if (request->body_kind == BODY_JSON) {
        connector_expand_json(scope, request->body, out);
    } else if (request->body_kind == BODY_JSONRPC) {
        static const struct connector_value none = {.kind = VALUE_LIST};
        text_appendf(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":",
                     request->rpc_method);
        connector_expand_json(scope, request->body == NULL ? &none : request->body, out);
        text_append_char(out, '}');
    }
}

static enum rc append_base(const struct connector_scope *scope, const char *base_url,
                           struct text *out, struct err *err)
{
    if (base_url != NULL && *base_url != '\0')
        text_append_string(out, base_url);
    else if (!connector_expand(scope, &scope->connector->base_url, false, out))
        return err_set(err, RC_REJECT, "%s has no address for %.*s", scope->connector->provider,
                       (int)scope->vars->platform.len, scope->vars->platform.data);
    while (out->len > 0 && out->data[out->len - 1] == '/')
        out->data[--out->len] = '\0';
    return RC_OK;
}

static enum rc append_url(const struct connector_scope *scope,
                          const struct connector_request *request, const char *base_url,
                          struct text *path, struct connector_http *http, struct err *err)
{
    const struct connector_vars *vars = scope->vars;
    bool link = scope->stream->page.by == PAGE_LINK && request == scope->stream->request &&
                vars->token.data != NULL;
    if (link && !connector_host_allowed(scope->connector, vars, base_url, vars->token))
        return err_set(err, RC_REJECT, "%s names a next page on a host that its list does not have",
                       scope->connector->provider);
    if (link) {
        text_append(&http->url, vars->token.data, vars->token.len);
        return RC_OK;
    }
    enum rc rc = append_base(scope, base_url, &http->url, err);
    connector_expand_path(scope, &request->path, path);
    text_append(&http->url, path->data, path->len);
    append_pairs(scope, request->query, "?", &http->url);
    return rc;
}

/* ---- keys ---- */

static bool names_key(const struct connector_template *text)
{
    for (size_t i = 0; i < text->count; i++)
        if (text->pieces[i].variable == VARIABLE_API_KEY)
            return true;
    return false;
}

static enum rc add_key(const struct connector_scope *scope, struct connector_http *http,
                       struct err *err)
{
    const struct connector *connector = scope->connector;
    struct text value = {0};
    enum rc rc = RC_OK;
    if (connector->auth.in == AUTH_BEARER)
        text_append_string(&value, "Bearer ");
    bool there = connector->auth.in != AUTH_NONE &&
                 connector_expand(scope, &connector->auth.value, false, &value);
    if (there && connector->auth.in == AUTH_QUERY) {
        text_append_char(&http->url, strchr(http->url.data, '?') == NULL ? '?' : '&');
        connector_percent_encode(bytes_of(connector->auth.name), &http->url);
        text_append_char(&http->url, '=');
        connector_percent_encode(text_bytes(&value), &http->url);
        http->secret_in_url = true;
    } else if (there && connector->auth.in == AUTH_HEADER) {
        rc = connector_add_header(http, connector->auth.name, text_bytes(&value), err);
    } else if (there && connector->auth.in == AUTH_BEARER) {
        rc = connector_add_header(http, "Authorization", text_bytes(&value), err);
    }
    text_free(&value);
    return rc;
}

static enum rc check_key(const struct connector *connector, const struct connector_vars *vars,
                         struct err *err)
{
    if (connector_needs_key(connector) && vars->api_key.len == 0)
        return err_set(err, RC_REJECT, "%s needs a key: set providers.%s.api_key",
                       connector->provider, connector->provider);
    if (connector->sign != SIGN_NONE && vars->api_secret.len == 0)
        return err_set(err, RC_REJECT, "%s needs a secret: set providers.%s.api_secret",
                       connector->provider, connector->provider);
    return RC_OK;
}

/* ---- the request ---- */

enum rc connector_build(const struct connector *connector, const struct connector_stream *stream,
                        const struct connector_request *request, const struct connector_vars *vars,
                        const char *base_url, struct connector_http *http, struct err *err)
{
    struct connector_scope scope = {connector, stream,
                                    connector_platform(connector, vars->platform), vars};
    struct text path = {0};
    text_clear(&http->url);
    text_clear(&http->body);
    text_clear(&http->header_text);
    http->header_count = 0;
    http->method = request->method;
    http->secret_in_url = names_key(&request->path) && vars->api_key.len > 0;
    if (scope.platform == NULL)
        return err_set(err, RC_REJECT, "%s does not serve %.*s", connector->provider,
                       (int)vars->platform.len, vars->platform.data);
    enum rc rc = check_key(connector, vars, err);
    if (rc == RC_OK)
        rc = append_url(&scope, request, base_url, &path, http, err);
    if (rc == RC_OK)
        append_body(&scope, request, &http->body);
    if (rc == RC_OK)
        rc = add_headers(&scope, request, http, err);
    if (rc == RC_OK)
        rc = add_key(&scope, http, err);
    if (rc == RC_OK && connector->sign != SIGN_NONE)
        rc = connector_sign(&scope, text_bytes(&path), http, err);
    text_free(&path);
    return rc;
}

void connector_http_free(struct connector_http *http)
{
    text_free(&http->url);
    text_free(&http->body);
    text_free(&http->header_text);
}

/* ---- for people ---- */

static void append_masked(struct bytes text, struct bytes secret, struct text *out)
{
    for (size_t i = 0; i < text.len;) {
        bool here = secret.len > 0 && text.len - i >= secret.len &&
                    memcmp(text.data + i, secret.data, secret.len) == 0;
        text_append(out, here ? SECRET_MASK : text.data + i, here ? strlen(SECRET_MASK) : 1);
        i += here ? secret.len : 1;
    }
}

bool connector_header_is_secret(const struct connector *connector, const char *name)
{
    return (connector->auth.name != NULL && strcasecmp(name, connector->auth.name) == 0) ||
           strcasecmp(name, "Authorization") == 0 || strncasecmp(name, "API-", 4) == 0;
}

void connector_http_show(const struct connector *connector, const struct connector_http *http,
                         const struct connector_vars *vars, struct text *out)
{
    struct text encoded = {0};
    connector_percent_encode(vars->api_key, &encoded);
    text_appendf(out, "%s ", http->method);
    append_masked(text_bytes(&http->url), text_bytes(&encoded), out);
    text_append_char(out, '\n');
    for (size_t i = 0; i < http->header_count; i++) {
        const char *name = http->header_text.data + http->headers[i].name;
        const char *value = http->header_text.data + http->headers[i].value;
        bool key = connector_header_is_secret(connector, name);
        text_appendf(out, "%s: %s\n", name, key ? SECRET_MASK : value);
    }
    if (http->body.len > 0) {
        append_masked(text_bytes(&http->body), vars->api_key, out);
        text_append_char(out, '\n');
    }
    text_free(&encoded);
}

/* ---- hosts ---- */

struct place {
    struct bytes scheme, authority;
};

static bool split(struct bytes url, struct place *out)
{
    size_t scheme = 0, end;
    while (scheme < url.len && url.data[scheme] != ':')
        scheme++;
    if (url.len - scheme < 4 || memcmp(url.data + scheme, "://", 3) != 0)
        return false;
    end = scheme + 3;
    while (end < url.len && strchr("/?#", url.data[end]) == NULL)
        end++;
    *out = (struct place){bytes_make(url.data, scheme),
                          bytes_make(url.data + scheme + 3, end - scheme - 3)};
    return out->authority.len > 0;
}

static bool same(struct bytes a, struct bytes b)
{
    return a.len == b.len && strncasecmp(a.data, b.data, a.len) == 0;
}

bool connector_host_allowed(const struct connector *connector, const struct connector_vars *vars,
                            const char *base_url, struct bytes url)
{
    struct connector_scope scope = {connector, NULL, connector_platform(connector, vars->platform),
                                    vars};
    struct text base = {0};
    struct place place, own;
    if (!split(url, &place))
        return false;
    bool allowed = append_base(&scope, base_url, &base, NULL) == RC_OK &&
                   split(text_bytes(&base), &own) && same(place.scheme, own.scheme) &&
                   same(place.authority, own.authority);
    for (size_t i = 0; !allowed && i < connector->host_count; i++)
        allowed = same(place.scheme, bytes_of("https")) &&
                  same(place.authority, bytes_of(connector->hosts[i]));
    text_free(&base);
    return allowed;
}
