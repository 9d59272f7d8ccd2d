/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url_fold.h"

#include "decode/url_host.h"

#include <string.h>

#define SEGMENTS_MAX 4 /* dates and codes that an archive puts before the address */

static bool names_scheme(struct bytes text)
{
    static const char *const starts[] = {"http:", "https:", "http%3a", "https%3a"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        size_t len = strlen(starts[i]);
        if (text.len > len && url_equals_lower(url_cut(text, 0, len), bytes_of(starts[i])))
            return true;
    }
    return false;
}

static size_t segment_end(struct bytes text, size_t at)
{
    const char *slash = memchr(text.data + at, '/', text.len - at);
    return slash == NULL ? text.len : (size_t)(slash - text.data);
}

/* What ends an address is none of it: it would be left out where no query follows. */
static void trim(struct url_text *inner)
{
    while (inner->len > 0 && (unsigned char)inner->data[inner->len - 1] <= ' ')
        inner->len--;
}

/* The rest of the path is the address, and so are query and fragment. */
static void put_rest(const struct url_fold *fold, struct bytes rest, struct url_text *inner)
{
    const char *escaped = memchr(rest.data, '%', segment_end(rest, 0));
    if (names_scheme(rest) && escaped != NULL && escaped - rest.data <= 5) {
        url_text_put_unescaped(inner, rest, false);
        trim(inner);
    } else {
        url_text_put_bytes(inner, rest);
    }
    if (fold->query.data != NULL) {
        url_text_put(inner, '?');
        url_text_put_bytes(inner, fold->query);
    }
    if (fold->fragment.data != NULL) {
        url_text_put(inner, '#');
        url_text_put_bytes(inner, fold->fragment);
    }
}

/* A segment that reads like a public host. */
static bool names_host(struct bytes segment)
{
    return segment.len > 0 && segment.len <= URL_HOST_MAX && url_host_has_known_suffix(segment) &&
           memchr(segment.data, '%', segment.len) == NULL;
}

static bool take_path(const struct url_fold *fold, struct bytes rest, struct url_text *inner)
{
    size_t at = 0;
    bool dated = false;
    for (int i = 0; i < SEGMENTS_MAX && at < rest.len; i++) {
        struct bytes from = url_cut(rest, at, rest.len);
        if (names_scheme(from)) {
            put_rest(fold, from, inner);
            return true;
        }
        if (dated && names_host(url_cut(rest, at, segment_end(rest, at)))) {
            url_text_put_string(inner, "https://");
            put_rest(fold, from, inner);
            return true;
        }
        dated = i == 0 && rest.data[0] >= '0' && rest.data[0] <= '9';
        at = segment_end(rest, at) + 1;
    }
    return false;
}

/* c/s/host/path: the kind of document, perhaps "s" for https, the address. */
static bool take_amp_path(const struct url_fold *fold, struct bytes rest, struct url_text *inner)
{
    bool https = false;
    for (int i = 0; i < 3 && rest.len > 0; i++) {
        size_t end = segment_end(rest, 0);
        struct bytes segment = url_cut(rest, 0, end);
        if (names_host(segment)) {
            url_text_put_string(inner, https ? "https://" : "http://");
            put_rest(fold, rest, inner);
            return true;
        }
        https = bytes_equal_string(segment, "s");
        rest = url_cut(rest, end < rest.len ? end + 1 : end, rest.len);
    }
    return false;
}

static bool take_parameter(const struct url_fold *fold, const char *name, struct url_text *inner)
{
    struct url_parameters walk = url_parameters_of(fold->query);
    while (url_parameters_next(&walk)) {
        if (!bytes_equal_string(walk.name, name))
            continue;
        if (walk.value.len == 0 || !names_scheme(walk.value))
            return false;
        url_text_put_unescaped(inner, walk.value, true);
        return true;
    }
    return false;
}

bool url_unwrap(const struct url_fold *fold, struct url_text *inner, bool *archive)
{
    const struct url_wrapper *row;
    size_t rows = url_wrappers_find(fold->host, &row);
    for (; rows > 0; rows--, row++) {
        size_t len = strlen(row->path);
        bool found = false;
        inner->len = 0;
        inner->full = false;
        if (!bytes_starts_with(fold->path, row->path))
            continue;
        struct bytes rest = url_cut(fold->path, len, fold->path.len);
        switch (row->shell) {
        case URL_IN_QUERY:
            found = take_parameter(fold, row->name, inner);
            break;
        case URL_IN_PATH:
            found = take_path(fold, rest, inner);
            break;
        case URL_IN_AMP_PATH:
            found = take_amp_path(fold, rest, inner);
            break;
        }
        if (found && !inner->full) {
            *archive = row->archive;
            return true;
        }
    }
    return false;
}
