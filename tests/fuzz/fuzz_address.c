/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as the address that a server redirects to, and as one to be told in words: it is
 * refused in a sentence that does not repeat it, or it is http or https, names its host, keeps to
 * the rules for strangers and reads as itself; the words are text on one line. What stands behind a
 * NUL is the address of the page it was found on. */
#include "base/address_words.h"
#include "base/utf8.h"
#include "sys/address.h"
#include "sys/http_url.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static void check_url(const char *text, const char *base, const struct http_url_rules *rules)
{
    struct http_url url = {0}, again = {0};
    struct err err = {""};
    enum rc rc = http_url_parse(text, base, rules, &url, &err);
    if (rc != RC_OK) {
        assert(rc == RC_REJECT && err.text[0] != '\0' && url.text == NULL);
        assert(strlen(text) < 24 || strstr(err.text, text) == NULL);
        return;
    }
    bool plain = strncmp(url.origin, "http://", 7) == 0;
    assert(plain || strncmp(url.origin, "https://", 8) == 0);
    assert(url.host[0] != '\0' && strstr(url.origin, "://") != NULL);
    for (const char *c = url.origin; *c != '\0'; c++)
        assert(*c < 'A' || *c > 'Z');
    if (rules->stranger && !rules->any_port)
        assert(ends_with(url.origin, ":80") || ends_with(url.origin, ":443"));
    for (const char *c = url.text; *c != '\0'; c++)
        assert((unsigned char)*c > ' ' && *c != 0x7f);
    /* Whom we would ask does not depend on how often it is read. */
    rc = http_url_parse(url.text, NULL, rules, &again, &err);
    assert(rc == RC_OK && strcmp(again.origin, url.origin) == 0);
    assert(strcmp(again.host, url.host) == 0);
    (void)address_text_is_public(url.host);
    http_url_deinit(&url);
    http_url_deinit(&again);
}

static void check_words(struct bytes url)
{
    struct text words = {0}, clean = {0};
    address_words_append(url, &words);
    assert((words.len == 0) == (url.len == 0));
    utf8_append(&clean, text_bytes(&words));
    assert(bytes_equal(text_bytes(&words), text_bytes(&clean)));
    text_free(&words);
    text_free(&clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct http_url_rules rules[] = {
        {.stranger = true}, {.stranger = true, .any_port = true}, {.stranger = false}};
    char *text = strndup((const char *)data, size);
    assert(text != NULL);
    size_t len = strlen(text);
    char *base = len < size ? strndup((const char *)data + len + 1, size - len - 1) : NULL;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        check_url(text, NULL, &rules[i]);
        check_url(text, "https://page.example/a/b?c", &rules[i]);
        if (base != NULL)
            check_url(text, base, &rules[i]);
    }
    check_words(bytes_make(data, size));
    free(text);
    free(base);
    return 0;
}
