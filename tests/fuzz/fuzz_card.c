/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a page, in one piece and in small ones: the same card, whose words are valid UTF-8
 * on one line within their bounds and whose addresses are addresses. The first byte chooses the
 * header and the size of the pieces. */
#include "decode/card.h"
#include "decode/card_text.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(struct bytes words, size_t max)
{
    assert(words.len <= max && (words.data == NULL || words.len > 0));
    for (size_t at = 0, len; at < words.len; at += len) {
        uint32_t point;
        len = card_text_point(words, at, &point);
        assert(len > 0 && point >= ' ' && (point < 0x7f || point >= 0xa0));
    }
}

static void check_address(struct bytes address)
{
    struct url url;
    if (address.data == NULL)
        return;
    enum rc rc = url_parse(address, &url, NULL);
    assert(rc == RC_OK && !url_is_local(&url));
}

static struct card_reader *read_page(struct bytes html, const char *type, size_t step,
                                     struct card *card)
{
    struct card_reader *reader =
        card_reader_new(bytes_of("https://example.com/a/b?c"), bytes_of(type));
    for (size_t at = 0; at < html.len; at += step) {
        size_t len = html.len - at < step ? html.len - at : step;
        if (!card_reader_feed(reader, bytes_make(html.data + at, len)))
            break;
    }
    card_reader_finish(reader, card);
    return reader;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {NULL,
                                        "text/html",
                                        "text/html; charset=utf-8",
                                        "text/html; charset=iso-2022-jp",
                                        "text/html; charset=gb18030",
                                        "text/html; charset=utf-16be",
                                        "text/html; charset=shift_jis",
                                        "text/html; charset=x\"; charset=big5"};
    struct card whole, pieces;
    uint8_t first = size == 0 ? 0 : data[0];
    struct bytes html = bytes_make(data + (size > 0), size - (size > 0));
    const char *type = types[first % 8];
    struct card_reader *one = read_page(html, type, html.len + 1, &whole);
    struct card_reader *two = read_page(html, type, 1 + first / 8, &pieces);
    check_words(whole.title, CARD_TITLE_MAX);
    check_words(whole.description, CARD_DESCRIPTION_MAX);
    check_words(whole.site_name, CARD_SITE_MAX);
    check_address(whole.image);
    check_address(whole.canonical);
    check_address(whole.og_url);
    assert(bytes_equal(whole.title, pieces.title));
    assert(bytes_equal(whole.description, pieces.description));
    assert(bytes_equal(whole.site_name, pieces.site_name));
    assert(bytes_equal(whole.image, pieces.image));
    assert(bytes_equal(whole.canonical, pieces.canonical));
    assert(bytes_equal(whole.og_url, pieces.og_url));
    card_reader_free(one);
    card_reader_free(two);
    return 0;
}
