/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the beginning of a picture or of a stranger's document: nothing is named that a
 * browser would run, a picture is what its marks say when they are read one by one, and what is
 * called text is text to the last byte. More bytes behind a picture change nothing. */
#include "base/picture_type.h"
#include "serve/document_type.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has(struct bytes head, size_t at, const char *mark, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (at + i >= head.len || head.data[at + i] != mark[i])
            return false;
    return true;
}

/* As the formats' own papers have it. */
static const char *slow_type(struct bytes head)
{
    if (has(head, 0, "\x89PNG\r\n\x1a\n", 8))
        return "image/png";
    if (has(head, 0, "\xff\xd8\xff", 3))
        return "image/jpeg";
    if (has(head, 0, "GIF8", 4) && (has(head, 4, "7a", 2) || has(head, 4, "9a", 2)))
        return "image/gif";
    if (has(head, 0, "RIFF", 4) && has(head, 8, "WEBP", 4))
        return "image/webp";
    if (has(head, 4, "ftypavi", 7) && (has(head, 11, "f", 1) || has(head, 11, "s", 1)))
        return "image/avif";
    return NULL;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Decodes with shifts and ranges of code points, other than the product does. */
static bool is_text(struct bytes text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    for (size_t i = 0; i < text.len;) {
        size_t more = at[i] < 0x80 ? 0 : at[i] < 0xe0 ? 1 : at[i] < 0xf0 ? 2 : 3;
        uint32_t point = more == 0 ? at[i] : at[i] & (0x3fu >> more);
        if ((at[i] >= 0x80 && at[i] < 0xc0) || at[i] >= 0xf8 || more >= text.len - i)
            return false;
        for (size_t k = 1; k <= more; k++) {
            if ((at[i + k] & 0xc0) != 0x80)
                return false;
            point = point << 6 | (at[i + k] & 0x3f);
        }
        if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) || point == 0x7f ||
            (more > 0 && point < (more == 1   ? 0x80u
                                  : more == 2 ? 0x800u
                                              : 0x10000u)) ||
            (point < ' ' && point != '\t' && point != '\n' && point != '\r'))
            return false;
        i += more + 1;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const quiet[] = {"image/png",        "image/jpeg",
                                        "image/gif",        "image/webp",
                                        "image/avif",       "application/octet-stream",
                                        "application/json", "text/plain; charset=utf-8"};
    struct bytes head = bytes_make(data, size);
    const char *picture = picture_type_of(head), *whole = document_type_of(head, false);
    const char *cut = document_type_of(head, true);
    bool known = false;
    assert(same(picture, slow_type(head)));
    assert(picture == NULL || (same(whole, picture) && same(cut, picture)));
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
        known = known || strcmp(whole, quiet[i]) == 0;
    assert(known);
    if (picture == NULL)
        assert((strcmp(whole, "application/octet-stream") == 0) == (size == 0 || !is_text(head)));
    /* What is whole text stays text when more may follow, and of a cut one all but the last
     * character is text. */
    if (picture == NULL && strcmp(whole, "application/octet-stream") != 0)
        assert(same(whole, cut));
    if (strncmp(cut, "text/", 5) == 0 || strncmp(cut, "application/j", 13) == 0) {
        size_t len = size;
        while (len > 0 && len + 4 > size && !is_text(bytes_make(data, len)))
            len--;
        assert(is_text(bytes_make(data, len)));
    }
    return 0;
}
