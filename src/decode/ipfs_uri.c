/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/ipfs_uri.h"

#include "decode/url_text.h"

#include <string.h>

#define SCHEME_LEN (sizeof IPFS_URI_SCHEME - 1)
#define OLD_PREFIX "ipfs/"

static struct bytes skip(struct bytes from, size_t count)
{
    return bytes_make(from.data + count, from.len - count);
}

static size_t count_letters(struct bytes text)
{
    size_t len = 0;
    while (len < text.len && url_letter_or_digit(text.data[len]))
        len++;
    return len;
}

static bool ends_sentence(char mark)
{
    static const char ends[] = ".,;:!'()/";
    return memchr(ends, mark, sizeof ends - 1) != NULL;
}

/* How much of the text is a path; marks at its end belong to the sentence around it. */
static size_t count_path(struct bytes text)
{
    static const char marks[] = "-._~!$&'()*+,;=:@%/";
    size_t len = 0;
    if (text.len == 0 || text.data[0] != '/')
        return 0;
    while (len < text.len && (url_letter_or_digit(text.data[len]) ||
                              memchr(marks, text.data[len], sizeof marks - 1) != NULL))
        len++;
    while (len > 0 && ends_sentence(text.data[len - 1]))
        len--;
    return len;
}

bool ipfs_uri_next(struct bytes *rest, struct bytes *name)
{
    while (rest->len > SCHEME_LEN) {
        const char *at = memmem(rest->data, rest->len, IPFS_URI_SCHEME, SCHEME_LEN);
        if (at == NULL)
            return false;
        *rest = skip(*rest, (size_t)(at - rest->data) + SCHEME_LEN);
        if (bytes_starts_with(*rest, OLD_PREFIX))
            *rest = skip(*rest, sizeof OLD_PREFIX - 1);
        size_t len = count_letters(*rest);
        if (len > 0)
            len += count_path(skip(*rest, len));
        *name = bytes_make(rest->data, len < IPFS_URI_NAME_MAX ? len : IPFS_URI_NAME_MAX);
        *rest = skip(*rest, len);
        if (len > 0)
            return true;
    }
    return false;
}

bool ipfs_uri_bare(struct bytes text, struct bytes *name)
{
    struct cid cid;
    size_t letters = count_letters(text);
    size_t len = letters + count_path(skip(text, letters));
    if (letters == 0 || cid_parse(bytes_make(text.data, letters), &cid, NULL) != RC_OK)
        return false;
    *name = bytes_make(text.data, len < IPFS_URI_NAME_MAX ? len : IPFS_URI_NAME_MAX);
    while (len < text.len && ends_sentence(text.data[len]))
        len++;
    return len == text.len;
}

struct bytes ipfs_uri_path(struct bytes name)
{
    const char *slash = name.len == 0 ? NULL : memchr(name.data, '/', name.len);
    return slash == NULL ? BYTES_ABSENT : skip(name, (size_t)(slash - name.data) + 1);
}

/* Each name of the path behind a slash; those that are empty mean nothing. */
static void put_path(struct url_text *out, struct bytes path, bool escaped)
{
    char room[IPFS_URI_NAME_MAX];
    while (path.len > 0) {
        const char *slash = memchr(path.data, '/', path.len);
        size_t len = slash == NULL ? path.len : (size_t)(slash - path.data);
        struct url_text plain = url_text_over(room, sizeof room);
        if (escaped)
            url_text_put_unescaped(&plain, bytes_make(path.data, len), false);
        else
            url_text_put_bytes(&plain, bytes_make(path.data, len));
        if (len > 0) {
            url_text_put(out, '/');
            url_text_put_escaped(out, url_text_bytes(&plain));
        }
        path = skip(path, len + (slash != NULL));
    }
}

enum rc ipfs_uri_spell(struct bytes name, bool escaped, struct cid *cid,
                       char out[IPFS_URI_SPELLED_SIZE], struct err *err)
{
    struct bytes path = ipfs_uri_path(name);
    size_t letters = path.data == NULL ? name.len : name.len - path.len - 1;
    if (name.len >= IPFS_URI_NAME_MAX)
        return err_set(err, RC_REJECT, "the address has %d letters or more", IPFS_URI_NAME_MAX);
    enum rc rc = cid_parse(bytes_make(name.data, letters), cid, err);
    if (rc != RC_OK)
        return rc;
    struct url_text spelled = url_text_over(out, IPFS_URI_SPELLED_SIZE - 1);
    cid_format(cid, out);
    spelled.len = strlen(out);
    put_path(&spelled, path, escaped);
    if (spelled.full)
        return err_set(err, RC_REJECT, "the path of the address is too long");
    out[spelled.len] = '\0';
    return RC_OK;
}
