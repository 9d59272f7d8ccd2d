/* SPDX-License-Identifier: Apache-2.0 */
#include "query/trending_words.h"

#include "query/letter_case.h"

#include <string.h>
#include <strings.h>

static bool is_ascii(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] >= 0x80)
            return false;
    return true;
}

static bool begins_with(struct bytes text, size_t at, struct bytes word)
{
    uint32_t here, wanted;
    for (size_t i = 0; i < word.len;) {
        if (at == text.len)
            return false;
        at += letter_case_read(text, at, &here);
        i += letter_case_read(word, i, &wanted);
        if (here != wanted)
            return false;
    }
    return true;
}

bool words_contain(struct bytes text, struct bytes word)
{
    if (text.data == NULL || word.len == 0)
        return false;
    bool ascii = is_ascii(word);
    for (size_t at = 0; at < text.len; at++) {
        if (ascii && at + word.len > text.len)
            return false;
        if (ascii ? strncasecmp(text.data + at, word.data, word.len) == 0
                  : begins_with(text, at, word))
            return true;
    }
    return false;
}

static bool words_have(const struct link_words *words, struct bytes word)
{
    return words_contain(words->title, word) || words_contain(words->url, word) ||
           words_contain(words->description, word);
}

bool words_match(const struct link_words *words, struct bytes q)
{
    for (size_t at = 0, end; at < q.len; at = end + 1) {
        for (end = at; end < q.len && q.data[end] != ' ';)
            end++;
        if (end > at && !words_have(words, bytes_make(q.data + at, end - at)))
            return false;
    }
    return true;
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

/* Addresses are stored without the www of their host. */
static bool is_within(struct bytes host, struct bytes site)
{
    if (site.len > 4 && strncasecmp(site.data, "www.", 4) == 0)
        site = bytes_make(site.data + 4, site.len - 4);
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
        if (words_have(words, bytes_of(list->items[i])))
            return true;
    return false;
}
