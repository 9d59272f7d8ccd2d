/* SPDX-License-Identifier: Apache-2.0 */
#include "query/trending_words.h"

#include <string.h>
#include <strings.h>

bool words_contain(struct bytes text, struct bytes word)
{
    if (text.data == NULL || word.len == 0)
        return false;
    for (size_t at = 0; at + word.len <= text.len; at++)
        if (strncasecmp(text.data + at, word.data, word.len) == 0)
            return true;
    return false;
}

bool words_match(const struct link_words *words, struct bytes q)
{
    return q.len == 0 || words_contain(words->title, q) || words_contain(words->url, q) ||
           words_contain(words->description, q);
}

/* The host of an address: what stands between the first two slashes and the next, or a port. */
static struct bytes host_of(struct bytes url)
{
    const char *end = url.data + url.len, *at = url.data;
    while (at + 3 <= end && memcmp(at, "://", 3) != 0)
        at++;
    at = at + 3 <= end ? at + 3 : end;
    const char *stop = at;
    while (stop < end && *stop != '/' && *stop != ':' && *stop != '?')
        stop++;
    return bytes_make(at, (size_t)(stop - at));
}

static bool is_within(struct bytes host, struct bytes site)
{
    if (host.len < site.len ||
        strncasecmp(host.data + host.len - site.len, site.data, site.len) != 0)
        return false;
    return host.len == site.len || host.data[host.len - site.len - 1] == '.';
}

bool words_are_muted(const struct link_words *words, const struct config *config)
{
    const struct config_list *sites = &config->news.mute_domains, *list = &config->news.mute_words;
    struct bytes host = host_of(words->url);
    for (size_t i = 0; i < sites->count; i++)
        if (is_within(host, bytes_of(sites->items[i])))
            return true;
    for (size_t i = 0; i < list->count; i++)
        if (words_match(words, bytes_of(list->items[i])))
            return true;
    return false;
}
