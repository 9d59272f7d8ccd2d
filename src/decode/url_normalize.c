/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url_identity.h"

#include "decode/url_fold.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SHELLS_MAX 8 /* wrappers around wrappers */

static void put_origin(bool https, struct bytes host, uint16_t port, struct url_text *out)
{
    char digits[8];
    url_text_put_string(out, https ? "https://" : "http://");
    url_text_put_bytes(out, host);
    if (port == 0)
        return;
    snprintf(digits, sizeof digits, ":%u", port);
    url_text_put_string(out, digits);
}

static void put_parameter(struct url_text *out, bool *first, struct bytes parameter)
{
    url_text_put(out, *first ? '?' : '&');
    url_text_put_bytes(out, parameter);
    *first = false;
}

static void put_query(const struct url_fold *fold, struct url_text *out)
{
    bool first = true;
    struct url_parameters walk = url_parameters_of(fold->query);
    while (url_parameters_next(&walk))
        if (url_parameter_judge(fold->rule, walk.name, walk.value) == URL_PARAMETER_KEPT)
            put_parameter(out, &first, walk.whole);
}

/* The query as it was written, with the gift and without the tracking. */
static bool put_reader_query(struct bytes query, const struct url_host_rule *rule,
                             struct url_text *out)
{
    char room[URL_BYTES_MAX];
    bool first = true, gift = false;
    struct url_parameters walk = url_parameters_of(query);
    while (url_parameters_next(&walk)) {
        struct url_text folded = url_text_over(room, sizeof room);
        url_text_put_folded(&folded, walk.whole);
        struct url_parameters one = url_parameters_of(url_text_bytes(&folded));
        if (!url_parameters_next(&one))
            continue;
        enum url_parameter verdict = url_parameter_judge(rule, one.name, one.value);
        if (verdict != URL_PARAMETER_DROPPED)
            put_parameter(out, &first, walk.whole);
        gift = gift || verdict == URL_PARAMETER_GIFT;
    }
    return gift;
}

static void put_reader(const struct url *url, const struct url_host_rule *rule,
                       struct url_identity *out)
{
    struct url_text text = url_text_over(out->reader_room, sizeof out->reader_room);
    put_origin(url->https, url->host, url->port, &text);
    url_text_put_bytes(&text, url->path);
    if (put_reader_query(url->query, rule, &text))
        out->flags |= URL_GIFT;
    if (url->fragment.data != NULL) {
        url_text_put(&text, '#');
        url_text_put_bytes(&text, url->fragment);
    }
    assert(!text.full);
    out->reader = url_text_bytes(&text);
}

/* A fragment that names a page, not a place on it. */
static bool is_route(struct bytes fragment)
{
    return fragment.len >= 3 && (fragment.data[0] == '!' || fragment.data[0] == '/');
}

/* Its path is folded. */
static bool put_normalized(struct url_fold *fold, struct url_identity *out)
{
    char tail_room[URL_BYTES_MAX];
    struct url_text tail = url_text_over(tail_room, sizeof tail_room);
    struct url_text text = url_text_over(out->normalized_room, sizeof out->normalized_room);
    if (!url_site_put(fold, &tail)) {
        url_text_put_bytes(&tail, fold->path);
        put_query(fold, &tail);
        if (is_route(fold->fragment)) {
            url_text_put(&tail, '#');
            url_text_put_bytes(&tail, fold->fragment);
        }
    }
    put_origin(fold->https, fold->host, fold->port, &text);
    size_t host = fold->https ? strlen("https://") : strlen("http://");
    url_text_put_bytes(&text, url_text_bytes(&tail));
    out->normalized = url_text_bytes(&text);
    out->host = bytes_make(text.data + host, fold->host.len);
    out->domain = url_cut(out->host, fold->host.len - fold->domain.len, fold->host.len);
    return !text.full && !tail.full;
}

static unsigned mark_ending(struct bytes path)
{
    static const char *const pictures[] = {"avif", "bmp", "gif", "heic", "jpeg", "jpg",
                                           "jxl",  "png", "svg", "tif",  "tiff", "webp"};
    size_t dot = path.len;
    if (bytes_starts_with(path, "/wiki/"))
        return 0; /* pages about files are named after them */
    while (dot > 0 && path.data[dot - 1] != '.' && path.data[dot - 1] != '/')
        dot--;
    if (dot == 0 || path.data[dot - 1] != '.')
        return 0;
    struct bytes ending = url_cut(path, dot, path.len);
    if (url_equals_lower(ending, bytes_of("gif")))
        return URL_GIF | URL_IMAGE;
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++)
        if (url_equals_lower(ending, bytes_of(pictures[i])))
            return URL_IMAGE;
    return 0;
}

static unsigned mark(const struct url_fold *fold)
{
    unsigned marks = fold->rule == NULL ? 0 : fold->rule->marks;
    marks |= mark_ending(fold->path);
    if ((marks & URL_IMAGE) == 0 && fold->path.len > 1 && url_host_shortens(fold->host))
        marks |= URL_SHORTENER;
    return marks;
}

/* What is inside may be an address only without the ending that its shell carries, so the path is
 * folded when nothing was found; not before, as the inner site may have other rules for it. */
static bool look_inside(struct url_fold *fold, struct url_text *inner, bool *archive,
                        struct url *found)
{
    for (int looks = 0; looks < 2; looks++) {
        if (url_unwrap(fold, inner, archive) &&
            url_parse(url_text_bytes(inner), found, NULL) == RC_OK)
            return true;
        url_fold_path(fold);
    }
    return false;
}

/* Takes shell after shell off; `at` is the innermost address then, and its path is folded. */
static enum rc unwrap(struct url urls[2], struct url **at, struct url_fold *fold,
                      struct url_identity *out, struct err *err)
{
    char room[URL_BYTES_MAX];
    for (int shells = 0;; shells++) {
        bool archive = false;
        struct url_text inner = url_text_over(room, sizeof room);
        struct url *next = *at == &urls[0] ? &urls[1] : &urls[0];
        enum rc rc = url_fold_make(*at, fold, err);
        if (rc != RC_OK || !look_inside(fold, &inner, &archive, next))
            return rc;
        if (shells == SHELLS_MAX)
            return err_set(err, RC_REJECT, "the address is wrapped too often");
        if (archive && (out->flags & URL_ARCHIVE) == 0) {
            put_reader(*at, fold->rule, out);
            out->flags |= URL_ARCHIVE;
        }
        *at = next;
    }
}

enum rc url_normalize(struct bytes input, struct url_identity *out, struct err *err)
{
    struct url urls[2], *at = &urls[0];
    struct url_fold fold;
    assert(out != NULL);
    out->flags = 0;
    enum rc rc = url_parse(input, at, err);
    if (rc == RC_OK)
        rc = unwrap(urls, &at, &fold, out, err);
    if (rc != RC_OK)
        return rc;
    if ((out->flags & URL_ARCHIVE) == 0)
        put_reader(at, fold.rule, out);
    if (!put_normalized(&fold, out))
        return err_set(err, RC_REJECT, "the address is longer than a name may be");
    out->flags |= mark(&fold);
    return RC_OK;
}

bool url_identity_is_front_page(const struct url_identity *identity)
{
    const char *end = identity->normalized.data + identity->normalized.len;
    const char *host_end = identity->host.data + identity->host.len;
    return memchr(host_end, '/', (size_t)(end - host_end)) == end - 1;
}
