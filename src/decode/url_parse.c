/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url.h"
#include "decode/url_host.h"
#include "decode/url_text.h"

#include <assert.h>
#include <string.h>

/* Room that the parts leave for what is printed between them: scheme, port, ? and #. */
#define BETWEEN_MAX 16

static bool slash(char c)
{
    return c == '/' || c == '\\';
}

/* Blanks and controls around the address go, and tabs and line breaks within it. */
static struct bytes clean(struct bytes input, char room[URL_BYTES_MAX])
{
    size_t len = 0;
    while (input.len > 0 && (unsigned char)input.data[0] <= ' ')
        input = url_cut(input, 1, input.len);
    while (input.len > 0 && (unsigned char)input.data[input.len - 1] <= ' ')
        input.len--;
    if (input.len > URL_BYTES_MAX)
        return BYTES_ABSENT;
    for (size_t i = 0; i < input.len; i++)
        if (input.data[i] != '\t' && input.data[i] != '\n' && input.data[i] != '\r')
            room[len++] = input.data[i];
    return bytes_make(room, len);
}

/* How many bytes "http:" or "https:" takes at the front; 0 for anything else. */
static size_t read_scheme(struct bytes input, bool *https)
{
    *https = input.len >= 6 && url_lower(input.data[4]) == 's';
    size_t len = *https ? 5 : 4;
    if (input.len <= len || input.data[len] != ':')
        return 0;
    return url_equals_lower(url_cut(input, 0, 4), bytes_make("http", 4)) ? len + 1 : 0;
}

static enum rc read_port(struct bytes digits, struct url *url, struct err *err)
{
    unsigned port = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return err_set(err, RC_REJECT, "the port is no number");
        port = port * 10 + (unsigned)(digits.data[i] - '0');
        if (port > UINT16_MAX)
            return err_set(err, RC_REJECT, "the port is above 65535");
    }
    if (digits.len > 0 && port == 0)
        return err_set(err, RC_REJECT, "nothing listens on port 0");
    url->port = port == (url->https ? 443 : 80) ? 0 : (uint16_t)port;
    return RC_OK;
}

/* Host and port; what stands before the last @ is dropped. */
static enum rc read_authority(struct bytes authority, struct url *url, struct url_text *out,
                              struct err *err)
{
    size_t end = 0;
    bool bracket = false;
    for (size_t i = authority.len; i > 0; i--) {
        if (authority.data[i - 1] == '@') {
            authority = url_cut(authority, i, authority.len);
            break;
        }
    }
    for (; end < authority.len && (bracket || authority.data[end] != ':'); end++)
        bracket = authority.data[end] == '[' || (bracket && authority.data[end] != ']');
    size_t start = out->len;
    enum rc rc = url_host_parse(url_cut(authority, 0, end), out, &url->host_kind, err);
    if (rc != RC_OK)
        return rc;
    url->host = bytes_make(out->data + start, out->len - start);
    end += end < authority.len;
    return read_port(url_cut(authority, end, authority.len), url, err);
}

/* How many dots a segment is made of, written plainly or as %2e; 0 when of anything else. */
static unsigned count_dots(struct bytes segment)
{
    unsigned dots = 0;
    for (size_t i = 0; i < segment.len; i++) {
        if (segment.data[i] == '%' &&
            url_equals_lower(url_cut(segment, i, segment.len < i + 3 ? segment.len : i + 3),
                             bytes_make("%2e", 3)))
            i += 2;
        else if (segment.data[i] != '.')
            return 0;
        dots++;
    }
    return dots;
}

static void drop_segment(struct url_text *out, size_t start)
{
    while (out->len > start && out->data[--out->len] != '/')
        continue;
}

static void read_path(struct bytes path, struct url_text *out)
{
    size_t start = out->len, at = path.len > 0 && slash(path.data[0]) ? 1 : 0;
    for (bool last = false; !last;) {
        size_t end = at;
        while (end < path.len && !slash(path.data[end]))
            end++;
        last = end == path.len;
        struct bytes segment = url_cut(path, at, end);
        unsigned dots = count_dots(segment);
        if (dots == 2)
            drop_segment(out, start);
        if (dots == 1 || dots == 2) {
            if (last)
                url_text_put(out, '/');
        } else {
            url_text_put(out, '/');
            url_text_put_part(out, segment, URL_PART_PATH);
        }
        at = end + 1;
    }
}

/* Where the authority ends: at a slash, a ? or a #. */
static size_t authority_end(struct bytes input, size_t at)
{
    while (at < input.len && !slash(input.data[at]) && input.data[at] != '?' &&
           input.data[at] != '#')
        at++;
    return at;
}

static size_t find(struct bytes input, size_t at, char stop)
{
    const char *found = memchr(input.data + at, stop, input.len - at);
    return found == NULL ? input.len : (size_t)(found - input.data);
}

static enum rc parse_clean(struct bytes input, struct url *url, struct err *err)
{
    struct url_text out = url_text_over(url->room, sizeof url->room - BETWEEN_MAX);
    size_t at = read_scheme(input, &url->https);
    if (at == 0)
        return err_set(err, RC_REJECT, "not an http or https address");
    while (at < input.len && slash(input.data[at]))
        at++;
    size_t end = authority_end(input, at);
    enum rc rc = read_authority(url_cut(input, at, end), url, &out, err);
    if (rc != RC_OK)
        return rc;
    size_t path = out.len, fragment_at = find(input, end, '#');
    at = end;
    end = find(url_cut(input, 0, fragment_at), at, '?');
    read_path(url_cut(input, at, end), &out);
    url->path = bytes_make(out.data + path, out.len - path);
    url->query = url->fragment = BYTES_ABSENT;
    if (end < input.len && input.data[end] == '?') {
        size_t query = out.len;
        at = end + 1;
        end = fragment_at;
        url_text_put_part(&out, url_cut(input, at, end), URL_PART_QUERY);
        url->query = bytes_make(out.data + query, out.len - query);
    }
    if (end < input.len) {
        size_t fragment = out.len;
        url_text_put_part(&out, url_cut(input, end + 1, input.len), URL_PART_FRAGMENT);
        url->fragment = bytes_make(out.data + fragment, out.len - fragment);
    }
    if (out.full)
        return err_set(err, RC_REJECT, "the address is too long");
    return RC_OK;
}

enum rc url_parse(struct bytes input, struct url *url, struct err *err)
{
    char room[URL_BYTES_MAX];
    assert(url != NULL);
    input = clean(input, room);
    if (input.data == NULL)
        return err_set(err, RC_REJECT, "the address is too long");
    return parse_clean(input, url, err);
}

static void put_origin(const struct url *url, struct text *out)
{
    text_append_string(out, url->https ? "https://" : "http://");
    text_append(out, url->host.data, url->host.len);
    if (url->port != 0)
        text_appendf(out, ":%u", url->port);
}

/* A reference that names its own scheme. */
static bool has_scheme(struct bytes reference)
{
    size_t at = 0;
    if (reference.len > 0 && reference.data[0] >= '0' && reference.data[0] <= '9')
        return false;
    while (at < reference.len &&
           (url_letter_or_digit(reference.data[at]) ||
            (at > 0 && reference.data[at] != 0 && strchr("+-.", reference.data[at]) != NULL)))
        at++;
    return at > 0 && at < reference.len && reference.data[at] == ':';
}

/* What of the page's own address stands before the reference. */
static void put_base(const struct url *base, struct bytes reference, struct text *out)
{
    size_t path = base->path.len;
    char first = reference.len > 0 ? reference.data[0] : '#';
    if (slash(first) && reference.len > 1 && slash(reference.data[1])) {
        text_append_string(out, base->https ? "https:" : "http:");
        return;
    }
    put_origin(base, out);
    if (slash(first))
        return;
    if (first != '?' && first != '#')
        while (base->path.data[path - 1] != '/')
            path--;
    text_append(out, base->path.data, path);
    if (first == '#' && base->query.data != NULL) {
        text_append_char(out, '?');
        text_append(out, base->query.data, base->query.len);
    }
}

enum rc url_join(const struct url *base, struct bytes reference, struct url *url, struct err *err)
{
    char room[URL_BYTES_MAX];
    struct text whole = {0};
    bool https;
    assert(base != url && base->path.len > 0);
    reference = clean(reference, room);
    if (reference.data == NULL)
        return err_set(err, RC_REJECT, "the address is too long");
    /* The page's own scheme says nothing: https:x on such a page is x. */
    size_t scheme = read_scheme(reference, &https);
    if (scheme > 0 && https == base->https)
        reference = url_cut(reference, scheme, reference.len);
    else if (has_scheme(reference))
        return parse_clean(reference, url, err);
    put_base(base, reference, &whole);
    text_append(&whole, reference.data, reference.len);
    enum rc rc = url_parse(text_bytes(&whole), url, err);
    text_free(&whole);
    return rc;
}

void url_print(const struct url *url, bool fragment, struct text *out)
{
    put_origin(url, out);
    text_append(out, url->path.data, url->path.len);
    if (url->query.data != NULL) {
        text_append_char(out, '?');
        text_append(out, url->query.data, url->query.len);
    }
    if (fragment && url->fragment.data != NULL) {
        text_append_char(out, '#');
        text_append(out, url->fragment.data, url->fragment.len);
    }
}

static bool local_ipv4(uint32_t address)
{
    static const struct {
        uint32_t net;
        unsigned bits;
    } nets[] = {
        {0x00000000, 8},  /* this network */
        {0x0a000000, 8},  /* private */
        {0x64400000, 10}, /* a provider's own */
        {0x7f000000, 8},  /* loopback */
        {0xa9fe0000, 16}, /* link-local */
        {0xac100000, 12}, /* private */
        {0xc0a80000, 16}, /* private */
        {0xe0000000, 3},  /* multicast, reserved, broadcast */
    };
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++)
        if ((address ^ nets[i].net) >> (32 - nets[i].bits) == 0)
            return true;
    return false;
}

static bool local_ipv6(const uint16_t p[8])
{
    bool low = (p[0] | p[1] | p[2] | p[3] | p[4]) == 0;
    if (low && (p[5] == 0xffff || p[5] == 0))
        return local_ipv4((uint32_t)p[6] << 16 | p[7]);
    return (p[0] & 0xfe00) == 0xfc00 || (p[0] & 0xffc0) == 0xfe80 || (p[0] & 0xff00) == 0xff00;
}

static bool ends_with(struct bytes host, const char *suffix)
{
    size_t len = strlen(suffix);
    return host.len >= len && memcmp(host.data + host.len - len, suffix, len) == 0;
}

bool url_is_local(const struct url *url)
{
    uint16_t pieces[8];
    uint32_t address;
    struct bytes host = url->host;
    if (url->host_kind == URL_HOST_IPV4)
        return url_ipv4_parse(host, &address) && local_ipv4(address);
    if (url->host_kind == URL_HOST_IPV6)
        return url_ipv6_parse(url_cut(host, 1, host.len - 1), pieces) && local_ipv6(pieces);
    if (host.data[host.len - 1] == '.')
        host.len--;
    return memchr(host.data, '.', host.len) == NULL || ends_with(host, ".localhost") ||
           ends_with(host, ".local") || ends_with(host, ".internal") ||
           ends_with(host, ".home.arpa");
}
