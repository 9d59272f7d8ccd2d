/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes: they are refused with a sentence, or they print as an address that reads and prints
 * the same again, and have a name that is an address and its own name. A second input behind a NUL
 * is a reference on the page of the first. */
#include "decode/url_identity.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_printable(struct bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        assert(bytes.data[i] > ' ' && bytes.data[i] < 0x7f);
}

static void check_parsed(const struct url *url)
{
    struct text first = {0}, second = {0};
    struct url again;
    assert(url->host.len > 0 && url->path.len > 0 && url->path.data[0] == '/');
    url_print(url, true, &first);
    assert(first.len <= URL_BYTES_MAX);
    check_printable(text_bytes(&first));
    enum rc rc = url_parse(text_bytes(&first), &again, NULL);
    assert(rc == RC_OK && again.host_kind == url->host_kind && again.port == url->port);
    url_print(&again, true, &second);
    assert(bytes_equal(text_bytes(&first), text_bytes(&second)));
    assert(url_is_local(url) == url_is_local(&again));
    text_free(&first);
    text_free(&second);
}

static void check_identity(struct bytes input, bool parses)
{
    struct url_identity first, second;
    struct url url;
    struct err err = {""};
    enum rc rc = url_normalize(input, &first, &err);
    assert(rc == RC_OK || (rc == RC_REJECT && err.text[0] != '\0'));
    assert(parses || rc == RC_REJECT);
    if (rc != RC_OK)
        return;
    assert(first.normalized.len <= URL_IDENTITY_MAX && first.reader.len <= URL_BYTES_MAX);
    assert(first.host.len >= first.domain.len && first.domain.len > 0);
    check_printable(first.normalized);
    rc = url_parse(first.normalized, &url, NULL);
    assert(rc == RC_OK && bytes_equal(url.host, first.host));
    rc = url_parse(first.reader, &url, NULL);
    assert(rc == RC_OK);
    rc = url_normalize(first.normalized, &second, NULL);
    assert(rc == RC_OK && bytes_equal(first.normalized, second.normalized));
    /* What is shown to readers leads to the same article. */
    rc = url_normalize(first.reader, &second, NULL);
    assert(rc == RC_OK && bytes_equal(first.normalized, second.normalized));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct url url, joined;
    struct err err = {""};
    const uint8_t *cut = size == 0 ? NULL : memchr(data, '\0', size);
    size_t len = cut == NULL ? size : (size_t)(cut - data);
    struct bytes input = bytes_make(data, len);
    enum rc rc = url_parse(input, &url, &err);
    assert(rc == RC_OK || (rc == RC_REJECT && err.text[0] != '\0'));
    if (rc == RC_OK) {
        check_parsed(&url);
        if (cut != NULL &&
            url_join(&url, bytes_make(cut + 1, size - len - 1), &joined, NULL) == RC_OK)
            check_parsed(&joined);
    }
    check_identity(input, rc == RC_OK);
    check_identity(bytes_make(data, size), true);
    return 0;
}
