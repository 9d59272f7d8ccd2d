/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url_fold.h"

#include <string.h>

#define VIDEO_LEN   11
#define PRODUCT_LEN 10
#define POST_MAX    20

/* The segment of the path that follows `before` (with its slashes), or absent. */
static struct bytes segment_after(struct bytes path, const char *before)
{
    const char *at = path.len == 0 ? NULL : memmem(path.data, path.len, before, strlen(before));
    if (at == NULL)
        return BYTES_ABSENT;
    size_t start = (size_t)(at - path.data) + strlen(before), end = start;
    while (end < path.len && path.data[end] != '/')
        end++;
    return url_cut(path, start, end);
}

static bool video_number(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!url_letter_or_digit(text.data[i]) && text.data[i] != '-' && text.data[i] != '_')
            return false;
    return text.len == VIDEO_LEN;
}

static bool put_video(struct bytes number, struct url_text *out)
{
    if (!video_number(number))
        return false;
    url_text_put_string(out, "/watch?v=");
    url_text_put_bytes(out, number);
    return true;
}

static bool put_named_video(const struct url_fold *fold, struct url_text *out)
{
    static const char *const folders[] = {"/shorts/", "/live/", "/embed/", "/v/", "/e/"};
    struct bytes number = BYTES_ABSENT;
    struct url_parameters walk = url_parameters_of(fold->query);
    if (bytes_equal_string(fold->path, "/watch"))
        while (url_parameters_next(&walk))
            if (number.data == NULL && bytes_equal_string(walk.name, "v"))
                number = walk.value;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (bytes_starts_with(fold->path, folders[i]))
            number = segment_after(fold->path, folders[i]);
    return put_video(number, out);
}

/* The short host has nothing but videos; they live at the long one. */
static bool put_short_video(struct url_fold *fold, struct url_text *out)
{
    if (!put_video(segment_after(fold->path, "/"), out))
        return false;
    fold->host = fold->domain = bytes_of("youtube.com");
    return true;
}

static bool put_post(const struct url_fold *fold, struct url_text *out)
{
    struct bytes number = segment_after(fold->path, "/status/");
    for (size_t i = 0; i < number.len; i++)
        if (number.data[i] < '0' || number.data[i] > '9')
            return false;
    if (number.len == 0 || number.len > POST_MAX)
        return false;
    url_text_put_string(out, "/i/status/");
    url_text_put_bytes(out, number);
    return true;
}

static bool put_product(const struct url_fold *fold, struct url_text *out)
{
    struct bytes number = segment_after(fold->path, "/dp/");
    if (number.data == NULL)
        number = segment_after(fold->path, "/gp/product/");
    for (size_t i = 0; i < number.len; i++)
        if (!url_letter_or_digit(number.data[i]))
            return false;
    if (number.len != PRODUCT_LEN)
        return false;
    url_text_put_string(out, "/dp/");
    url_text_put_bytes(out, number);
    return true;
}

bool url_site_put(struct url_fold *fold, struct url_text *out)
{
    switch (fold->rule == NULL ? URL_SITE_PLAIN : fold->rule->site) {
    case URL_SITE_AMAZON:
        return put_product(fold, out);
    case URL_SITE_X:
        return put_post(fold, out);
    case URL_SITE_YOUTUBE:
        return put_named_video(fold, out);
    case URL_SITE_YOUTU_BE:
        return put_short_video(fold, out);
    case URL_SITE_PLAIN:
        break;
    }
    return false;
}
