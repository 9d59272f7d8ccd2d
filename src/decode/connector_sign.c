/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_sign.h"

#include "base/digest.h"
#include "base/json_write.h"
#include "base/sign.h"

#include <string.h>

#define JWT_SECONDS 120

static void wipe(struct text *text)
{
    for (volatile char *c = text->data; c != NULL && c < text->data + text->cap; c++)
        *c = 0;
    text_free(text);
}

/* API-Sign = base64(HMAC-SHA512(base64 of the secret, path || SHA256(nonce || body))) */
static enum rc sign_kraken(const struct connector_scope *scope, struct bytes path,
                           struct connector_http *http, struct err *err)
{
    struct text secret = {0}, input = {0}, header = {0};
    uint8_t digest[DIGEST_SIZE], mac[SIGN_HMAC_SIZE];
    if (scope->vars->nonce < 0)
        return err_set(err, RC_REJECT, "%s needs a nonce", scope->connector->provider);
    if (!sign_base64_decode(scope->vars->api_secret, &secret)) {
        wipe(&secret);
        return err_set(err, RC_REJECT, "providers.%s.api_secret must be base64",
                       scope->connector->provider);
    }
    text_append_i64(&input, scope->vars->nonce);
    text_append(&input, http->body.data, http->body.len);
    digest_sha256(text_bytes(&input), digest);
    text_clear(&input);
    text_append(&input, path.data, path.len);
    text_append(&input, digest, sizeof digest);
    sign_hmac_sha512(text_bytes(&secret), text_bytes(&input), mac);
    sign_base64(bytes_make(mac, sizeof mac), &header);
    enum rc rc = connector_add_header(http, "API-Key", scope->vars->api_key, err);
    if (rc == RC_OK)
        rc = connector_add_header(http, "API-Sign", text_bytes(&header), err);
    wipe(&secret);
    text_free(&input);
    text_free(&header);
    return rc;
}

static void write_jwt_parts(const struct connector_scope *scope, const char *method,
                            struct bytes host, struct bytes path, struct text *head,
                            struct text *claims)
{
    const struct connector_vars *vars = scope->vars;
    struct json_writer writer;
    struct text text = {0};
    json_writer_init(&writer, head);
    json_begin_object(&writer);
    json_key(&writer, "alg");
    json_put_cstring(&writer, "ES256");
    json_key(&writer, "typ");
    json_put_cstring(&writer, "JWT");
    json_key(&writer, "kid");
    json_put_string(&writer, vars->api_key);
    json_key(&writer, "nonce");
    text_appendf(&text, "%016llx%llx", (unsigned long long)vars->chance,
                 (unsigned long long)vars->now_ms);
    json_put_string(&writer, text_bytes(&text));
    json_end_object(&writer);
    json_writer_init(&writer, claims);
    json_begin_object(&writer);
    json_key(&writer, "iss");
    json_put_cstring(&writer, "coinbase-cloud");
    json_key(&writer, "sub");
    json_put_string(&writer, vars->api_key);
    json_key(&writer, "aud");
    json_begin_array(&writer);
    json_put_cstring(&writer, "retail_rest_api_proxy");
    json_end_array(&writer);
    json_key(&writer, "nbf");
    json_put_i64(&writer, vars->now_ms / 1000);
    json_key(&writer, "exp");
    json_put_i64(&writer, vars->now_ms / 1000 + JWT_SECONDS);
    json_key(&writer, "uri");
    text_clear(&text);
    text_appendf(&text, "%s %.*s%.*s", method, (int)host.len, host.data, (int)path.len, path.data);
    json_put_string(&writer, text_bytes(&text));
    json_end_object(&writer);
    text_free(&text);
}

/* The host of the connector's own address, whatever address is in force. */
static struct bytes own_host(const struct connector_scope *scope, struct text *scratch)
{
    if (!connector_expand(scope, &scope->connector->base_url, false, scratch))
        return bytes_of("");
    const char *host = strstr(scratch->data, "://");
    host = host == NULL ? scratch->data : host + 3;
    return bytes_make(host, strcspn(host, "/"));
}

/* Authorization: Bearer JWT, good for two minutes and this request alone. */
static enum rc sign_coinbase(const struct connector_scope *scope, struct bytes path,
                             struct connector_http *http, struct err *err)
{
    struct text head = {0}, claims = {0}, token = {0}, base = {0};
    uint8_t signature[SIGN_ES256_SIZE];
    if (scope->vars->now_ms < 0)
        return err_set(err, RC_REJECT, "%s needs the time", scope->connector->provider);
    write_jwt_parts(scope, http->method, own_host(scope, &base), path, &head, &claims);
    text_append_string(&token, "Bearer ");
    size_t begin = token.len;
    sign_base64_url(text_bytes(&head), &token);
    text_append_char(&token, '.');
    sign_base64_url(text_bytes(&claims), &token);
    enum rc rc = sign_es256(scope->vars->api_secret,
                            bytes_make(token.data + begin, token.len - begin), signature, err);
    if (rc == RC_OK) {
        text_append_char(&token, '.');
        sign_base64_url(bytes_make(signature, sizeof signature), &token);
        rc = connector_add_header(http, "Authorization", text_bytes(&token), err);
    } else {
        err_wrap(err, rc, "providers.%s.api_secret", scope->connector->provider);
    }
    text_free(&head);
    text_free(&claims);
    text_free(&token);
    text_free(&base);
    return rc;
}

enum rc connector_sign(const struct connector_scope *scope, struct bytes path,
                       struct connector_http *http, struct err *err)
{
    return scope->connector->sign == SIGN_KRAKEN ? sign_kraken(scope, path, http, err)
                                                 : sign_coinbase(scope, path, http, err);
}
