/* SPDX-License-Identifier: Apache-2.0 */
#include "config_table.h"
#include "sys/listen_socket.h"
#include "sys/log.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool all_of(struct bytes text, const char *beside_letters_and_digits)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!isalnum((unsigned char)c) && (c == 0 || !strchr(beside_letters_and_digits, c)))
            return false;
    }
    return text.len > 0;
}

static bool all_hex(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!isxdigit((unsigned char)text.data[i]))
            return false;
    }
    return text.len > 0;
}

static struct bytes skip(struct bytes text, size_t count)
{
    return bytes_make(text.data + count, text.len - count);
}

static struct bytes until(struct bytes text, const char *stops)
{
    size_t len = 0;
    while (len < text.len && (text.data[len] == 0 || !strchr(stops, text.data[len])))
        len++;
    return bytes_make(text.data, len);
}

static bool port_valid(struct bytes text)
{
    uint64_t port;
    return text.len <= 5 && bytes_to_u64(text, &port) && port >= 1 && port <= 65535;
}

/* Who listens may leave the choice of the port to the system. */
static bool is_free_port(struct bytes text)
{
    return bytes_equal_string(text, "0");
}

/* HOST, HOST:PORT, [ADDRESS]:PORT; the port is required when `with_port`. */
static bool host_valid(struct bytes text, bool with_port)
{
    struct bytes rest;
    if (text.len > 0 && text.data[0] == '[') {
        struct bytes address = until(skip(text, 1), "]");
        if (address.len + 2 > text.len || !all_of(address, ":.%"))
            return false;
        rest = skip(text, address.len + 2);
    } else {
        struct bytes host = until(text, ":");
        if (host.len > 253 || !all_of(host, ".-_"))
            return false;
        rest = skip(text, host.len);
    }
    if (rest.len == 0)
        return !with_port;
    struct bytes port = skip(rest, 1);
    return rest.data[0] == ':' && (port_valid(port) || (with_port && is_free_port(port)));
}

static bool url_valid(struct bytes url, const char *const *schemes)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.data[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}#", c))
            return false;
    }
    if (memmem(url.data, url.len, SECRET_MASK, strlen(SECRET_MASK)) != NULL)
        return false;
    for (; *schemes != NULL; schemes++) {
        if (!bytes_starts_with(url, *schemes))
            continue;
        struct bytes authority = until(skip(url, strlen(*schemes)), "/?");
        const char *at = memrchr(authority.data, '@', authority.len);
        if (at != NULL)
            authority = skip(authority, (size_t)(at + 1 - authority.data));
        return host_valid(authority, false);
    }
    return false;
}

/* Of an address that begins with one of two schemes. */
static struct bytes authority_of(struct bytes url, const char *const *schemes)
{
    const char *scheme = bytes_starts_with(url, schemes[0]) ? schemes[0] : schemes[1];
    return until(skip(url, strlen(scheme)), "/?");
}

const char *config_check_ws_url(struct bytes value)
{
    static const char *const schemes[] = {"wss://", "ws://", NULL};
    if (!url_valid(value, schemes))
        return "a wss:// or ws:// address with a host";
    /* The connection would not be made, and its host is named in logs and in the database. */
    struct bytes authority = authority_of(value, schemes);
    return memchr(authority.data, '@', authority.len) == NULL
               ? NULL
               : "a wss:// or ws:// address with a host and no user";
}

/* Its host is its name in logs and in the database. */
const char *config_check_appview(struct bytes value)
{
    static const char *const schemes[] = {"https://", "http://", NULL};
    struct bytes authority = BYTES_ABSENT;
    bool good = url_valid(value, schemes);
    if (good)
        authority = authority_of(value, schemes);
    return good && authority.len <= CONFIG_APPVIEW_HOST_MAX &&
                   memchr(authority.data, '@', authority.len) == NULL
               ? NULL
               : "an https:// or http:// address with a host of up to 58 letters and no user";
}

const char *config_check_http_url(struct bytes value)
{
    static const char *const schemes[] = {"https://", "http://", NULL};
    return url_valid(value, schemes) ? NULL : "an https:// or http:// address with a host";
}

/* `/ipfs/CID?format=raw` is put behind it. With another /ipfs, as many write it, gateways would
 * refuse every document for good. */
const char *config_check_gateway(struct bytes value)
{
    static const char *const schemes[] = {"https://", "http://", NULL};
    static const char again[] = "/ipfs";
    static const char words[] =
        "an https:// or http:// address with a host, without a query or /ipfs at its end";
    size_t tail = sizeof again - 1;
    if (config_check_http_url(value) != NULL || memchr(value.data, '?', value.len) != NULL)
        return words;
    struct bytes host = authority_of(value, schemes);
    struct bytes path = skip(value, (size_t)(host.data + host.len - value.data));
    while (path.len > 0 && path.data[path.len - 1] == '/')
        path.len--;
    return path.len >= tail && memcmp(path.data + path.len - tail, again, tail) == 0 ? words : NULL;
}

const char *config_check_any_url(struct bytes value)
{
    static const char *const schemes[] = {"https://", "http://", "wss://", "ws://", NULL};
    return url_valid(value, schemes) ? NULL : "an https://, http://, wss:// or ws:// address";
}

/* What stands before the last @ is user and password. A letter in them that could end them earlier
 * must be escaped: whoever reads the address would cut them there, and show the rest as a host. */
static bool user_is_clear(struct bytes url)
{
    const char *slashes = memmem(url.data, url.len, "://", 3);
    const char *at = memrchr(url.data, '@', url.len);
    if (slashes == NULL || at == NULL)
        return true;
    const char *user = slashes + 3;
    struct bytes rest = bytes_make(user, (size_t)(url.data + url.len - user));
    return user + until(rest, "/?#[]@").len == at;
}

/* Of the servers that the address names, with commas between; one may say nothing of its port. */
static bool ports_are_valid(struct bytes url)
{
    static const char *const schemes[] = {"postgresql://", "postgres://", NULL};
    struct bytes rest = authority_of(url, schemes);
    const char *at = memrchr(rest.data, '@', rest.len);
    if (at != NULL)
        rest = skip(rest, (size_t)(at + 1 - rest.data));
    while (rest.len > 0) {
        struct bytes server = until(rest, ",");
        bool in_brackets = server.len > 0 && server.data[0] == '[';
        size_t host = until(server, in_brackets ? "]" : ":").len;
        struct bytes port = skip(server, host + (in_brackets && host < server.len));
        if (port.len > 1 && !(port.data[0] == ':' && port_valid(skip(port, 1))))
            return false;
        rest = skip(rest, server.len + (server.len < rest.len));
    }
    return true;
}

const char *config_check_store(struct bytes value)
{
    bool file = bytes_starts_with(value, "sqlite:") && value.len > strlen("sqlite:");
    bool server =
        bytes_starts_with(value, "postgresql://") || bytes_starts_with(value, "postgres://");
    if (!file && !server)
        return "sqlite:PATH or postgresql://...";
    if (bytes_equal_string(value, "sqlite::memory:"))
        return "sqlite:PATH of a file: memory keeps nothing";
    if (server && !user_is_clear(value))
        return "an address whose user and password have / ? # [ ] and @ written as %2F %3F %23 "
               "%5B %5D and %40";
    if (server && !ports_are_valid(value))
        return "an address whose ports are 1 to 65535";
    return NULL;
}

const char *config_check_listen(struct bytes value)
{
    char address[128];
    snprintf(address, sizeof address, "%.*s", (int)value.len, value.len > 0 ? value.data : "");
    return host_valid(value, true) && listen_socket_is_address(address)
               ? NULL
               : "an address and a port, like 127.0.0.1:8080";
}

const char *config_check_origin(struct bytes value)
{
    size_t scheme = bytes_starts_with(value, "https://")  ? strlen("https://")
                    : bytes_starts_with(value, "http://") ? strlen("http://")
                                                          : 0;
    return scheme > 0 && host_valid(skip(value, scheme), false)
               ? NULL
               : "an origin like https://news.example:8443, without a path";
}

const char *config_check_rotate(struct bytes value)
{
    uint64_t bytes;
    unsigned count;
    return log_rotate_parse(value, &bytes, &count)
               ? NULL
               : "a size and a count, like 10M:5 (K, M or G; 1 to 100 files)";
}

const char *config_check_actor(struct bytes value)
{
    bool did = bytes_starts_with(value, "did:") && value.len <= 2048 && all_of(value, ":._%-");
    bool handle = value.len <= 253 && all_of(value, ".-") && memchr(value.data, '.', value.len) &&
                  value.data[0] != '.' && value.data[value.len - 1] != '.';
    return did || handle ? NULL : "a handle like you.bsky.social or a DID like did:plc:...";
}

const char *config_check_site(struct bytes value)
{
    bool ok = value.len <= 253 && all_of(value, ".-_") && value.data[0] != '.' &&
              value.data[value.len - 1] != '.';
    return ok ? NULL
              : "the name of a site like example.org, without https:// and /; letters beyond a-z "
                "as xn--...";
}

const char *config_check_weight(struct bytes value)
{
    struct bytes actor = until(value, "=");
    int64_t percent = -1;
    bool ok =
        actor.len + 1 < value.len && config_check_actor(actor) == NULL &&
        bytes_to_i64(bytes_make(value.data + actor.len + 1, value.len - actor.len - 1), &percent) &&
        percent >= 0 && percent <= 10000;
    return ok ? NULL : "HANDLE=PERCENT or DID=PERCENT, from 0 to 10000";
}

const char *config_check_account(struct bytes value)
{
    struct bytes kind = until(value, ":");
    bool ok = all_of(kind, "-_") && (kind.len == value.len || value.len > kind.len + 1);
    if (bytes_equal_string(kind, "csv"))
        return "CHAIN:ADDRESS or the name of an exchange; a file is read by `tidemark import "
               "csv:PATH`";
    return ok ? NULL : "CHAIN:ADDRESS or the name of an exchange";
}

const char *config_check_contract(struct bytes value)
{
    bool ok = value.len == 42 && bytes_starts_with(value, "0x") && all_hex(skip(value, 2));
    return ok ? NULL : "0x and 40 hexadecimal digits";
}

const char *config_check_collection(struct bytes value)
{
    bool dotted = value.len <= 317 && all_of(value, ".-*") && memchr(value.data, '.', value.len);
    const char *star = memchr(value.data, '*', value.len);
    bool star_last = star == NULL || star == value.data + value.len - 1;
    return dotted && star_last ? NULL : "a collection like app.bsky.feed.post, or app.bsky.feed.*";
}

/* [], [7], and any number of them. */
static bool is_dimensions(struct bytes text)
{
    while (text.len > 0 && text.data[0] == '[') {
        struct bytes size = until(skip(text, 1), "]");
        uint64_t count;
        if (size.len + 2 > text.len || (size.len > 0 && !bytes_to_u64(size, &count)))
            return false;
        text = skip(text, size.len + 2);
    }
    return text.len == 0;
}

/* A type as it stands in a signature: the hash of one that is written otherwise is another's. */
static bool is_abi_type(struct bytes text)
{
    static const struct {
        const char *name;
        uint64_t step, max; /* of the number behind it; 0: there is none */
    } types[] = {
        {"address", 0, 0}, {"bool", 0, 0},  {"string", 0, 0}, {"bytes", 0, 0},
        {"uint", 8, 256},  {"int", 8, 256}, {"bytes", 1, 32}, {"function", 0, 0},
    };
    struct bytes name = until(text, "0123456789[");
    struct bytes size = until(skip(text, name.len), "[");
    uint64_t bits = 0;
    if (!is_dimensions(skip(text, name.len + size.len)) ||
        (size.len > 0 && (size.data[0] == '0' || !bytes_to_u64(size, &bits))))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (bytes_equal_string(name, types[i].name) &&
            (types[i].max == 0 ? size.len == 0
                               : bits > 0 && bits <= types[i].max && bits % types[i].step == 0))
            return true;
    return false;
}

/* Types and tuples of them, with commas between. */
static bool are_abi_types(struct bytes rest)
{
    unsigned depth = 0;
    for (bool closed = false;;) {
        struct bytes word = until(rest, ",()");
        char mark = word.len < rest.len ? rest.data[word.len] : '\0';
        if (mark == '(' ? word.len > 0 || closed
                        : !(closed ? is_dimensions(word) : is_abi_type(word)))
            return false;
        if (mark == ')' && depth-- == 0)
            return false;
        if (mark == '\0')
            return depth == 0 && word.len == rest.len;
        depth += mark == '(';
        closed = mark == ')';
        rest = skip(rest, word.len + 1);
    }
}

const char *config_check_event(struct bytes value)
{
    if (bytes_equal_string(value, "any") || bytes_equal_string(value, "action"))
        return NULL;
    struct bytes name = until(value, "(");
    bool ok = all_of(name, "_$") && !isdigit((unsigned char)name.data[0]) &&
              value.len >= name.len + 2 && value.data[value.len - 1] == ')';
    if (ok && value.len > name.len + 2)
        ok = are_abi_types(bytes_make(value.data + name.len + 1, value.len - name.len - 2));
    return ok ? NULL
              : "any, action, or a signature like EditPublished(address,string), its types as the "
                "ABI has them: uint256, not uint";
}

/* ---- masking ---- */

#define KEY_OF_LETTERS_MIN  24
#define KEY_OF_DATABASE_MIN 16

/* Runs of letters with a digit or a capital among them are keys more often than words, and so are
 * long ones without: /v3/9aa3d95b3bc440fa88ea12eaa4456161. */
static bool looks_like_key(struct bytes run, size_t shortest)
{
    bool mixed = false;
    for (size_t i = 0; i < run.len; i++)
        mixed |= isdigit((unsigned char)run.data[i]) || isupper((unsigned char)run.data[i]);
    return run.len >= (mixed ? shortest : KEY_OF_LETTERS_MIN);
}

static bool holds_key(struct bytes segment, size_t shortest)
{
    for (size_t at = 0, len; at < segment.len; at += len + 1) {
        for (len = 0; at + len < segment.len; len++)
            if (!all_of(bytes_make(segment.data + at + len, 1), "_-"))
                break;
        if (looks_like_key(bytes_make(segment.data + at, len), shortest))
            return true;
    }
    return false;
}

static void mask_query(struct bytes query, struct text *out)
{
    while (query.len > 0) {
        struct bytes pair = until(query, "&");
        struct bytes name = until(pair, "=");
        text_append(out, name.data, name.len);
        if (name.len < pair.len) {
            bool shown = bytes_equal_string(name, "sslmode") || bytes_equal_string(name, "dbname");
            text_append_char(out, '=');
            if (shown)
                text_append(out, name.data + name.len + 1, pair.len - name.len - 1);
            else
                text_append_string(out, SECRET_MASK);
        }
        query = skip(query, pair.len);
        if (query.len > 0) {
            text_append_char(out, '&');
            query = skip(query, 1);
        }
    }
}

static void mask_path(struct bytes path, size_t shortest, struct text *out)
{
    while (path.len > 0) {
        struct bytes segment = until(path, "/");
        if (holds_key(segment, shortest))
            text_append_string(out, SECRET_MASK);
        else
            text_append(out, segment.data, segment.len);
        path = skip(path, segment.len);
        if (path.len > 0) {
            text_append_char(out, '/');
            path = skip(path, 1);
        }
    }
}

/* A password may hold characters that should have been escaped, so the last @ ends it; where that
 * leaves doubt, all before it is hidden: hiding too much is the safe mistake. The name of a user is
 * shown where it cannot be a key. */
static struct bytes mask_user(struct bytes rest, bool named, struct text *out)
{
    const char *at = memrchr(rest.data, '@', rest.len);
    if (at == NULL)
        return rest;
    struct bytes user = bytes_make(rest.data, (size_t)(at - rest.data));
    struct bytes name = until(user, ":");
    if (!named || until(name, "/?").len < name.len) {
        text_append_string(out, SECRET_MASK);
    } else {
        text_append(out, name.data, name.len);
        text_append_string(out, name.len < user.len ? ":" SECRET_MASK : "");
    }
    text_append_char(out, '@');
    return skip(rest, user.len + 1);
}

void config_mask_url(struct bytes url, struct text *out)
{
    const char *slashes = memmem(url.data, url.len, "://", 3);
    bool server = bytes_starts_with(url, "postgres"); /* its path is the name of a database */
    size_t shortest = server ? KEY_OF_DATABASE_MIN : SECRET_WORD_MIN;
    if (slashes == NULL) {
        bool plain = !all_of(url, "_-") || !looks_like_key(url, KEY_OF_DATABASE_MIN);
        bool harmless =
            bytes_starts_with(url, "sqlite:") || (memchr(url.data, '@', url.len) == NULL && plain);
        text_append(out, harmless ? url.data : SECRET_MASK,
                    harmless ? url.len : strlen(SECRET_MASK));
        return;
    }
    struct bytes rest = skip(url, (size_t)(slashes + 3 - url.data));
    text_append(out, url.data, url.len - rest.len);
    rest = mask_user(rest, server, out);
    struct bytes authority = until(rest, "/?");
    text_append(out, authority.data, authority.len);
    rest = skip(rest, authority.len);
    struct bytes path = until(rest, "?");
    mask_path(path, shortest, out);
    rest = skip(rest, path.len);
    if (rest.len > 0) {
        text_append_char(out, '?');
        mask_query(skip(rest, 1), out);
    }
}
