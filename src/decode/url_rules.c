/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url_rules.h"

#include "decode/url_host.h"
#include "decode/url_text.h"

#include <string.h>

#define NAME_MAX_LEN 64 /* of parameters that a table could name */

static int compare(struct bytes a, const char *b)
{
    int order = strncmp(a.data, b, a.len); /* no host and no name has a NUL in it */
    return order != 0 ? order : -(b[a.len] != '\0');
}

/* The first row whose host is `host`. Rows are `stride` bytes apart and begin with their host. */
static const void *search(struct bytes host, const void *rows, size_t count, size_t stride)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *key;
        memcpy(&key, (const char *)rows + middle * stride, sizeof key);
        if (compare(host, key) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    const char *key = NULL;
    if (low < count)
        memcpy(&key, (const char *)rows + low * stride, sizeof key);
    return key != NULL && compare(host, key) == 0 ? (const char *)rows + low * stride : NULL;
}

/* Cuts the first label off; false when there is no other. */
static bool step_up(struct bytes *host)
{
    const char *dot = memchr(host->data, '.', host->len);
    if (dot == NULL)
        return false;
    *host = url_cut(*host, (size_t)(dot + 1 - host->data), host->len);
    return true;
}

const struct url_host_rule *url_host_rule_find(struct bytes host)
{
    struct bytes at = host;
    do {
        const struct url_host_rule *rule =
            search(at, url_host_rules, url_host_rules_count, sizeof url_host_rules[0]);
        if (rule != NULL && (at.len < host.len || (rule->flags & URL_RULE_BELOW) == 0))
            return rule;
    } while (step_up(&at));
    return NULL;
}

size_t url_wrappers_find(struct bytes host, const struct url_wrapper **first)
{
    do {
        *first = search(host, url_wrappers, url_wrappers_count, sizeof url_wrappers[0]);
        if (*first == NULL)
            continue;
        size_t rows = 0;
        while (*first + rows < url_wrappers + url_wrappers_count &&
               compare(host, (*first)[rows].host) == 0)
            rows++;
        return rows;
    } while (step_up(&host));
    return 0;
}

bool url_host_shortens(struct bytes host)
{
    do {
        if (search(host, url_shorteners, url_shorteners_count, sizeof url_shorteners[0]) != NULL)
            return true;
    } while (step_up(&host));
    return false;
}

static bool starts_with(struct bytes name, const char *start, size_t len)
{
    return name.len >= len && memcmp(name.data, start, len) == 0;
}

static bool listed(const char *list, struct bytes name)
{
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, " ");
        bool open = list[len - 1] == '*';
        if (starts_with(name, list, len - open) && (open || name.len == len))
            return true;
        list += len + (list[len] == ' ');
    }
    return false;
}

/* Names that are common words, judged by what they say. */
static bool tells_origin(struct bytes name, struct bytes value)
{
    if (bytes_equal_string(name, "ref")) /* newsletters sign what they link to with their host */
        return value.len > 0 && value.len < URL_HOST_MAX && url_host_has_known_suffix(value);
    if (bytes_equal_string(name, "amp"))
        return value.len == 0 || bytes_equal_string(value, "1") ||
               bytes_equal_string(value, "true");
    if (bytes_equal_string(name, "output") || bytes_equal_string(name, "outputtype"))
        return bytes_equal_string(value, "amp");
    return false;
}

enum url_parameter url_parameter_judge(const struct url_host_rule *rule, struct bytes name,
                                       struct bytes value)
{
    char room[NAME_MAX_LEN];
    if (name.len == 0 || name.len > sizeof room)
        return URL_PARAMETER_KEPT;
    for (size_t i = 0; i < name.len; i++)
        room[i] = url_lower(name.data[i]);
    name.data = room;
    if (rule != NULL && listed(rule->gift, name))
        return value.len > 0 ? URL_PARAMETER_GIFT : URL_PARAMETER_DROPPED;
    if (rule != NULL && listed(rule->drop, name))
        return URL_PARAMETER_DROPPED;
    if (search(name, url_tracking, url_tracking_count, sizeof url_tracking[0]) != NULL)
        return URL_PARAMETER_DROPPED;
    for (size_t i = 0; i < url_tracking_starts_count; i++)
        if (starts_with(name, url_tracking_starts[i], strlen(url_tracking_starts[i])))
            return URL_PARAMETER_DROPPED;
    return tells_origin(name, value) ? URL_PARAMETER_DROPPED : URL_PARAMETER_KEPT;
}

struct url_parameters url_parameters_of(struct bytes query)
{
    return (struct url_parameters){.rest = query};
}

bool url_parameters_next(struct url_parameters *walk)
{
    do {
        if (walk->rest.len == 0)
            return false;
        const char *end = memchr(walk->rest.data, '&', walk->rest.len);
        size_t len = end == NULL ? walk->rest.len : (size_t)(end - walk->rest.data);
        walk->whole = url_cut(walk->rest, 0, len);
        walk->rest = url_cut(walk->rest, len + (end != NULL), walk->rest.len);
        while (bytes_starts_with(walk->whole, "amp;"))
            walk->whole = url_cut(walk->whole, 4, walk->whole.len);
    } while (walk->whole.len == 0);
    const char *equals = memchr(walk->whole.data, '=', walk->whole.len);
    size_t name = equals == NULL ? walk->whole.len : (size_t)(equals - walk->whole.data);
    walk->name = url_cut(walk->whole, 0, name);
    walk->value = equals == NULL ? BYTES_ABSENT : url_cut(walk->whole, name + 1, walk->whole.len);
    return true;
}
