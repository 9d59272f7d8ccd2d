/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/visitor.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 63

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return text[digits] == '\0' && digits >= 1 && digits <= 5;
}

bool visitor_means_loopback(const char *host)
{
    char name[NAME_MAX_LEN + 1];
    struct in_addr v4;
    struct in6_addr v6;
    assert(host != NULL);
    bool bracket = host[0] == '[';
    size_t len = bracket ? strcspn(host + 1, "]") : strcspn(host, ":");
    const char *rest = host + len;
    if (bracket && host[1 + len] != ']')
        return false;
    rest += bracket ? 2 : 0;
    if (len == 0 || len > NAME_MAX_LEN || (rest[0] != '\0' && rest[0] != ':') ||
        (rest[0] == ':' && !is_port(rest + 1)))
        return false;
    snprintf(name, sizeof name, "%.*s", (int)len, host + (bracket ? 1 : 0));
    if (bracket)
        return inet_pton(AF_INET6, name, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(name, "localhost") == 0 ||
           (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET);
}

bool visitor_may_write(const char *host, const char *origin, const char *site)
{
    if (origin == NULL || (site != NULL && strcmp(site, "same-origin") == 0))
        return true;
    size_t scheme = strncmp(origin, "https://", 8) == 0  ? 8
                    : strncmp(origin, "http://", 7) == 0 ? 7
                                                         : 0;
    return scheme > 0 && host != NULL && strcasecmp(origin + scheme, host) == 0;
}

/* The next word of a list, or absent; `at` moves behind it. */
static struct bytes next_word(const char **at)
{
    const char *word = *at + strspn(*at, ", \t");
    size_t len = strcspn(word, ", \t");
    *at = word + len;
    return len == 0 ? BYTES_ABSENT : bytes_make(word, len);
}

bool visitor_names(const char *list, const char *word)
{
    struct bytes found;
    const char *at = list == NULL ? "" : list;
    while ((found = next_word(&at)).len > 0)
        if (found.len == strlen(word) && strncasecmp(found.data, word, found.len) == 0)
            return true;
    return false;
}

struct bytes visitor_offered_token(const char *protocols)
{
    const size_t before = strlen(VISITOR_BEARER);
    struct bytes found;
    const char *at = protocols == NULL ? "" : protocols;
    while ((found = next_word(&at)).len > 0)
        if (bytes_starts_with(found, VISITOR_BEARER))
            return bytes_make(found.data + before, found.len - before);
    return BYTES_ABSENT;
}
