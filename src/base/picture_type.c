/* SPDX-License-Identifier: Apache-2.0 */
#include "base/picture_type.h"

#include <stdbool.h>
#include <string.h>

struct mark {
    size_t at, len;
    const char *bytes;
};

/* A format is known by all of its marks; where there is one, the second is empty. */
static const struct picture_format {
    const char *type;
    struct mark marks[2];
} formats[] = {
    {"image/png", {{0, 8, "\x89PNG\r\n\x1a\n"}, {0, 0, ""}}},
    {"image/jpeg", {{0, 3, "\xff\xd8\xff"}, {0, 0, ""}}},
    {"image/gif", {{0, 6, "GIF87a"}, {0, 0, ""}}},
    {"image/gif", {{0, 6, "GIF89a"}, {0, 0, ""}}},
    {"image/webp", {{0, 4, "RIFF"}, {8, 4, "WEBP"}}},
    {"image/avif", {{4, 8, "ftypavif"}, {0, 0, ""}}},
    {"image/avif", {{4, 8, "ftypavis"}, {0, 0, ""}}},
};

static bool bears(struct bytes head, const struct mark *mark)
{
    return head.len >= mark->at + mark->len &&
           memcmp(head.data + mark->at, mark->bytes, mark->len) == 0;
}

const char *picture_type_of(struct bytes head)
{
    if (head.len == 0)
        return NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (bears(head, &formats[i].marks[0]) && bears(head, &formats[i].marks[1]))
            return formats[i].type;
    return NULL;
}
