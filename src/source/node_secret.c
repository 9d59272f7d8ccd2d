/* SPDX-License-Identifier: Apache-2.0 */
#include "source/node_secret.h"

#include "base/sign.h"

#include <ctype.h>
#include <string.h>

#define SECRET_MIN   8 /* bytes; shorter words of an address are in many sentences */
#define PASSWORD_MIN 4
#define TOKEN_MIN    16

/* What a node says: as it is and without escapes, in small letters. */
struct hearing {
    struct text plain, decoded;
    bool may_hold; /* the address may hold a secret */
    bool said;
};

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void decode(struct bytes in, struct text *out)
{
    for (size_t i = 0; i < in.len; i++) {
        int high = i + 2 < in.len && in.data[i] == '%' ? hex_digit(in.data[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(in.data[i + 2]) : -1;
        text_append_char(out, low >= 0 ? (char)(high * 16 + low) : in.data[i]);
        i += low >= 0 ? 2 : 0;
    }
}

static void make_small(struct text *text)
{
    for (size_t i = 0; i < text->len; i++)
        text->data[i] = (char)tolower((unsigned char)text->data[i]);
}

static bool holds(const struct text *words, const char *part, size_t len)
{
    return words->len >= len && memmem(words->data, words->len, part, len) != NULL;
}

/* Any part of a long secret says too much. */
static void listen_for(struct hearing *hearing, struct text *secret, size_t min)
{
    size_t len = secret->len < SECRET_MIN ? secret->len : SECRET_MIN;
    make_small(secret);
    if (secret->len < min)
        return;
    hearing->may_hold = true;
    for (size_t i = 0; i + len <= secret->len && !hearing->said; i++)
        hearing->said = holds(&hearing->plain, secret->data + i, len) ||
                        holds(&hearing->decoded, secret->data + i, len);
}

static void listen_for_part(struct hearing *hearing, struct bytes part, size_t min)
{
    struct text form = {0};
    text_append(&form, part.data, part.len);
    listen_for(hearing, &form, min);
    text_clear(&form);
    decode(part, &form);
    listen_for(hearing, &form, min);
    text_free(&form);
}

/* As the header has it, of the name and the password together. */
static void listen_for_header(struct hearing *hearing, struct bytes credentials)
{
    struct text plain = {0}, form = {0};
    decode(credentials, &plain);
    sign_base64_url(credentials, &form);
    listen_for(hearing, &form, SECRET_MIN);
    text_clear(&form);
    sign_base64_url(text_bytes(&plain), &form);
    listen_for(hearing, &form, SECRET_MIN);
    text_clear(&form);
    sign_base64(text_bytes(&plain), &form);
    listen_for(hearing, &form, SECRET_MIN);
    text_free(&plain);
    text_free(&form);
}

static void listen_for_credentials(struct hearing *hearing, struct bytes credentials)
{
    const char *colon = memchr(credentials.data, ':', credentials.len);
    size_t name_len = colon == NULL ? credentials.len : (size_t)(colon - credentials.data);
    hearing->may_hold = true;
    listen_for_part(hearing, bytes_make(credentials.data, name_len), SECRET_MIN);
    if (colon != NULL)
        listen_for_part(hearing, bytes_make(colon + 1, credentials.len - name_len - 1),
                        PASSWORD_MIN);
    listen_for_header(hearing, credentials);
}

static bool is_token_char(char c)
{
    return isalnum((unsigned char)c) || strchr("+_=-", c) != NULL;
}

/* Whether a word could be a key: long, of letters and digits, and no number of a block or hash. */
static bool holds_token(const struct text *words)
{
    for (size_t i = 0, len; i < words->len; i += len + 1) {
        const char *at = words->data + i;
        bool letter = false, digit = false;
        for (len = 0; i + len < words->len && at[len] != '\0' && is_token_char(at[len]); len++) {
            letter |= isalpha((unsigned char)at[len]) != 0;
            digit |= isdigit((unsigned char)at[len]) != 0;
        }
        if (len >= TOKEN_MIN && letter && digit && memcmp(at, "0x", 2) != 0)
            return true;
    }
    return false;
}

bool node_secret_said(const char *url, struct bytes words)
{
    struct hearing hearing = {0};
    const char *at = strstr(url, "://");
    at = at == NULL ? url : at + 3;
    const char *host_end = at + strcspn(at, "/?#");
    const char *user_end = memrchr(at, '@', (size_t)(host_end - at));
    text_append(&hearing.plain, words.data, words.len);
    decode(words, &hearing.decoded);
    make_small(&hearing.plain);
    make_small(&hearing.decoded);
    if (user_end != NULL)
        listen_for_credentials(&hearing, bytes_make(at, (size_t)(user_end - at)));
    for (at = host_end; *at != '\0';) {
        size_t len = strcspn(at, "/?&=#");
        listen_for_part(&hearing, bytes_make(at, len), SECRET_MIN);
        at += len + (at[len] != '\0');
    }
    bool said = hearing.said || (hearing.may_hold && holds_token(&hearing.plain));
    text_free(&hearing.plain);
    text_free(&hearing.decoded);
    return said;
}
