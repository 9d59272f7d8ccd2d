/* SPDX-License-Identifier: Apache-2.0
 *
 * Any lines as the head of an answer, and each as the value of a header that is read for its
 * meaning. A name is found where a plain walk over the lines finds it; a wait is never below zero
 * and at most a year; a range lies within what there is. */
#include "serve/byte_range.h"
#include "serve/coding.h"
#include "sys/http_headers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_MS INT64_C(31536000000)
#define NOW_US  INT64_C(1790000000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The value of the first line `name: value`, looked for line by line. */
static struct bytes find_slowly(struct bytes headers, const char *name)
{
    size_t name_len = strlen(name);
    for (size_t at = 0; at < headers.len;) {
        size_t end = at;
        while (end < headers.len && !(headers.data[end] == '\n' && headers.data[end - 1] == '\r'))
            end++;
        assert(end < headers.len && end > at);
        struct bytes line = bytes_make(headers.data + at, end - 1 - at);
        if (bytes_starts_with(line, name) && line.len >= name_len + 2 &&
            line.data[name_len] == ':' && line.data[name_len + 1] == ' ')
            return bytes_make(line.data + name_len + 2, line.len - name_len - 2);
        at = end + 1;
    }
    return BYTES_ABSENT;
}

static void check_head(struct bytes rest)
{
    static const char *const names[] = {"retry-after", "date", "link", "a"};
    struct text headers = {0};
    while (rest.len > 0) {
        const char *end = memchr(rest.data, '\n', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.data) + 1;
        if (!http_headers_add(&headers, bytes_make(rest.data, len)))
            break;
        rest = bytes_make(rest.data + len, rest.len - len);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct bytes found = http_headers_find(text_bytes(&headers), names[i]);
        struct bytes slow = find_slowly(text_bytes(&headers), names[i]);
        assert(found.data == slow.data && found.len == slow.len);
    }
    int64_t wait_ms = http_headers_retry_after(text_bytes(&headers), NOW_US);
    assert(wait_ms >= -1 && wait_ms <= YEAR_MS);
    assert(http_headers_find(text_bytes(&headers), "retry-after").len > 0 || wait_ms == -1);
    text_free(&headers);
}

static void check_range(struct bytes value)
{
    static const int64_t sizes[] = {0, 1, 10, INT64_MAX};
    struct byte_range range = byte_range_parse(value);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t at = -1, len = -1;
        if (!byte_range_resolve(&range, sizes[i], &at, &len)) {
            assert(range.kind != BYTE_RANGE_ALL);
            continue;
        }
        assert(at >= 0 && len >= 0 && at <= sizes[i] && len <= sizes[i] - at);
        assert(range.kind != BYTE_RANGE_ALL || (at == 0 && len == sizes[i]));
        assert(range.kind != BYTE_RANGE_FROM || (at == range.first && len > 0));
    }
}

/* What no word of the header could mean is never chosen. */
static void check_coding(struct bytes value)
{
    char *string = strndup(value.data, value.len);
    assert(string != NULL);
    enum coding coding = coding_choose(string);
    bool any = strchr(string, '*') != NULL;
    assert(coding != CODING_GZIP || any || strcasestr(string, "gzip") != NULL);
    assert(coding != CODING_ZSTD || any || strcasestr(string, "zstd") != NULL);
    free(string);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    check_head(bytes_make(data, size));
    check_range(bytes_make(data, size));
    check_coding(bytes_make(data, size));
    return 0;
}
