/* SPDX-License-Identifier: Apache-2.0
 *
 * What pages say of themselves, and what they cannot make us do. */
#include "decode/card.h"
#include "decode/card_charset.h"
#include "decode/card_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PAGE "https://www.example.com/news/a?b=1"

static void expect(struct bytes bytes, const char *string)
{
    if (string == NULL ? bytes.data != NULL : !bytes_equal_string(bytes, string))
        fail_msg("%.*s is not %s", (int)bytes.len, bytes.data, string == NULL ? "absent" : string);
}

/* Feeds the page in pieces of `step` bytes; the reader must be freed. */
static struct card_reader *read_page(struct bytes html, const char *type, size_t step,
                                     struct card *card)
{
    struct card_reader *reader = card_reader_new(bytes_of(PAGE), bytes_of(type));
    for (size_t at = 0; at < html.len; at += step) {
        size_t len = html.len - at < step ? html.len - at : step;
        if (!card_reader_feed(reader, bytes_make(html.data + at, len)))
            break;
    }
    card_reader_finish(reader, card);
    return reader;
}

static void a_page_with_open_graph_tags_is_read(void **state)
{
    static const char html[] =
        "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>Page | Site</title>\n"
        "<script>var x = '<meta property=\"og:title\" content=\"fake\">';</script>\n"
        "<!-- <meta property=\"og:title\" content=\"fake\"> -->\n"
        "<meta property=\"og:title\" content=\"A &amp;amp; B&#39;s \xe2\x80\x9cstory\xe2\x80\x9d\n"
        "  here\">\n<META NAME='twitter:title' CONTENT='other'><meta name=\"description\" "
        "content=\"plain\"><meta property=\"og:description\" content=\"\">\n"
        "<meta property='og:image' content='/i.png?a=1&amp;b=2'><link href=canon rel='x Canonical'>"
        "<meta property=\"og:url\" content=\"https://example.com/news/a\">"
        "<meta property=og:site_name content=Site></head><body>"
        "<meta property=\"og:description\" content=\"late\"></body></html>";
    (void)state;
    for (size_t step = 1; step < sizeof html; step += step < 8 ? 1 : 97) {
        struct card card;
        struct card_reader *reader =
            read_page(bytes_of(html), "text/html; charset=UTF-8", step, &card);
        expect(card.title, "A &amp; B's \xe2\x80\x9cstory\xe2\x80\x9d here");
        expect(card.description, "plain");
        expect(card.site_name, "Site");
        expect(card.image, "https://www.example.com/i.png?a=1&b=2");
        expect(card.canonical, "https://www.example.com/news/canon");
        expect(card.og_url, "https://example.com/news/a");
        card_reader_free(reader);
    }
}

static void a_plain_page_has_its_title(void **state)
{
    static const struct {
        const char *html, *title;
    } cases[] = {
        {"<title> A\n page </title>", "A page"},
        {"<html><head><title>A &lt;b&gt; &eacute;&#x1F600;&#0;</title>",
         "A <b> \xc3\xa9\xf0\x9f\x98\x80"},
        {"<title></title><title>second</title>", "second"},
        {"<body><svg><title>icon</title></svg>", NULL},
        {"<title>unterminated", "unterminated"},
        {"<title>a</title><meta property=og:title content=' '>", "a"},
        {"just text", NULL},
        {"", NULL},
        {"<title>a\x01\x7f"
         "b\xe2\x80\xae"
         "c</title>",
         "abc"},
        {"<head><noscript><img src=x></noscript><meta name=twitter:title content=t></head>", "t"},
        {"<body><div><meta property=og:title content=late></div>", "late"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card card;
        struct card_reader *reader = read_page(bytes_of(cases[i].html), NULL, 4096, &card);
        expect(card.title, cases[i].title);
        expect(card.image, NULL);
        card_reader_free(reader);
    }
}

static void a_page_may_be_in_any_of_the_webs_character_sets(void **state)
{
    static const struct {
        const char *type, *html, *title;
        size_t len; /* 0: up to its NUL */
    } cases[] = {
        {"text/html; charset=iso-8859-1", "<title>caf\xe9 \x93x\x94</title>",
         "caf\xc3\xa9 \xe2\x80\x9cx\xe2\x80\x9d", 0},
        {"text/html;charset=\"windows-1251\"", "<title>\xcf\xf0\xe8</title>",
         "\xd0\x9f\xd1\x80\xd0\xb8", 0},
        {"text/html", "<meta charset=shift_jis><title>\x93\xfa\x96\x7b</title>",
         "\xe6\x97\xa5\xe6\x9c\xac", 0},
        {"text/html",
         "<meta http-equiv=Content-Type content='text/html; charset = gbk'><title>\xd6\xd0</title>",
         "\xe4\xb8\xad", 0},
        {"text/html", "<title>caf\xe9</title>", "caf\xc3\xa9", 0},
        {"text/html", "<title>caf\xc3\xa9</title>", "caf\xc3\xa9", 0},
        {"text/html; charset=utf-8", "<title>caf\xe9!</title>", "caf\xef\xbf\xbd!", 0},
        {"text/html; charset=x-unknown", "<meta charset=euc-kr><title>\xc7\xd1</title>",
         "\xed\x95\x9c", 0},
        {"text/html; charset=latin1", "\xef\xbb\xbf<title>caf\xc3\xa9</title>", "caf\xc3\xa9", 0},
        {NULL, "\xff\xfe<\0t\0i\0t\0l\0e\0>\0\xe9\0<\0/\0t\0i\0t\0l\0e\0>\0", "\xc3\xa9", 34},
        {"text/html; charset=utf-8//TRANSLIT", "<title>caf\xc3\xa9</title>", "caf\xc3\xa9", 0},
        {"text/html; charset=../../x", "<title>a</title>", "a", 0},
        {NULL, "<title>a\0b</title>",
         "a\xef\xbf\xbd"
         "b",
         18},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes html = bytes_of(cases[i].html);
        html.len = cases[i].len > 0 ? cases[i].len : html.len;
        for (size_t step = 1; step <= 64; step += 7) {
            struct card card;
            struct card_reader *reader = read_page(html, cases[i].type, step, &card);
            expect(card.title, cases[i].title);
            card_reader_free(reader);
        }
    }
}

static void characters_may_arrive_in_parts(void **state)
{
    static const char *const pages[][3] = {
        {"text/html; charset=utf-8", "\xe6\x97\xa5\xf0\x9f\x98\x80",
         "\xe6\x97\xa5\xf0\x9f\x98\x80"},
        {"text/html; charset=shift_jis", "\x93\xfa\x96\x7b", "\xe6\x97\xa5\xe6\x9c\xac"},
        {"text/html; charset=iso-2022-jp", "\x1b$BF|K\\\x1b(B", "\xe6\x97\xa5\xe6\x9c\xac"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        struct text html = {0};
        while (html.len < CARD_CHARSET_HEAD)
            text_append_string(&html, "<!-- far -->");
        text_appendf(&html, "<title>%s</title>", pages[i][1]);
        for (size_t step = 1; step < 8; step++) {
            struct card card;
            struct card_reader *reader = read_page(text_bytes(&html), pages[i][0], step, &card);
            expect(card.title, pages[i][2]);
            card_reader_free(reader);
        }
        text_free(&html);
    }
}

static void labels_of_character_sets_are_sorted(void **state)
{
    static const char *const known[] = {"ascii",  "UTF8",   "x-sjis",   "koi8-r",      "Big5",
                                        "latin1", "gb2312", "us-ascii", "windows-874", "utf-16be"};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_non_null(card_charset_find(bytes_of(known[i])));
    assert_null(card_charset_find(bytes_of("utf-7")));
    assert_null(card_charset_find(bytes_of("")));
}

static void addresses_on_a_page_are_absolute_and_public(void **state)
{
    static const struct {
        const char *html, *image;
    } cases[] = {
        {"<meta property=og:image content=i.png>", "https://www.example.com/news/i.png"},
        {"<base href=https://cdn.example.net/x/><meta property=og:image content=i.png>",
         "https://cdn.example.net/x/i.png"},
        {"<meta property=og:image content=//cdn.example.net/i.png>",
         "https://cdn.example.net/i.png"},
        {"<meta property=og:image content=data:image/png;base64,AAAA>", NULL},
        {"<meta property=og:image content='javascript:alert(1)'>", NULL},
        {"<meta property=og:image content=http://localhost/i.png>", NULL},
        {"<meta property=og:image content=http://192.168.0.1/i.png>", NULL},
        {"<meta property=og:image content=http://0x7f.1/i.png>", NULL},
        {"<base href=http://localhost/><meta property=og:image content=i.png>", NULL},
        {"<meta property=og:image content=data:,x><meta name=twitter:image:src content=/t.png>",
         "https://www.example.com/t.png"},
        {"<meta property=og:image content=''><meta property=og:image:url content=/u.png>",
         "https://www.example.com/u.png"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card card;
        struct card_reader *reader = read_page(bytes_of(cases[i].html), NULL, 4096, &card);
        expect(card.image, cases[i].image);
        card_reader_free(reader);
    }
}

static void a_page_is_believed_about_itself_only(void **state)
{
    static const struct {
        const char *page, *canonical, *og_url, *identity;
    } cases[] = {
        {"https://example.com/a?id=1", "https://www.example.com/story", NULL,
         "https://example.com/story"},
        {"https://amp.example.com/a", NULL, "https://www.example.com/a", "https://example.com/a"},
        {"https://example.com/a", "https://example.com/", "https://example.com/b",
         "https://example.com/b"},
        {"https://example.com/a", "https://example.com/", NULL, NULL},
        {"https://example.com/?p=1", "https://example.com/", NULL, NULL},
        {"http://www.example.com/#x", "https://example.com/", NULL, "https://example.com/"},
        {"https://example.com/a", "https://evil.example/a", "https://evil.example/b", NULL},
        {"https://a.github.io/a", "https://b.github.io/a", NULL, NULL},
        {"https://example.com/a", "https://example.com/a.jpg", NULL, NULL},
        {"https://example.com/a", NULL, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url_identity page, said;
        struct card card = {.canonical = bytes_of(cases[i].canonical),
                            .og_url = bytes_of(cases[i].og_url)};
        assert_int_equal(url_normalize(bytes_of(cases[i].page), &page, NULL), RC_OK);
        bool believed = card_identity(&card, &page, &said);
        assert_int_equal(believed, cases[i].identity != NULL);
        if (believed)
            expect(said.normalized, cases[i].identity);
    }
}

static void only_pages_are_read(void **state)
{
    (void)state;
    assert_true(card_reads(bytes_of("text/html; charset=utf-8")));
    assert_true(card_reads(bytes_of("Application/XHTML+xml")));
    assert_true(card_reads(BYTES_ABSENT));
    assert_false(card_reads(bytes_of("application/pdf")));
    assert_false(card_reads(bytes_of("text/htmlx")));
}

static void words_are_cut_between_characters(void **state)
{
    struct text html = {0};
    struct card card;
    (void)state;
    text_append_string(&html, "<title>x");
    while (html.len < 3 * CARD_TITLE_MAX)
        text_append_string(&html, "\xe6\x97\xa5");
    struct card_reader *reader = read_page(text_bytes(&html), NULL, 4096, &card);
    assert_int_equal(card.title.len, 1 + (CARD_TITLE_MAX - 1) / 3 * 3);
    card_reader_free(reader);
    text_free(&html);
}

static void cleaned_words_stay_within_their_room(void **state)
{
    char out[8];
    (void)state;
    for (size_t max = 0; max < sizeof out; max++) {
        memset(out, '#', sizeof out);
        size_t len = card_text_clean(bytes_of(" a \t b\xc3\xa9 \xff c d "), out, max);
        assert_true(len <= max && out[max] == '#');
        assert_memory_equal(out, "a b\xc3\xa9 c", len);
    }
}

static void elements_too_deep_end_the_reading(void **state)
{
    struct text html = {0};
    struct card card;
    (void)state;
    for (int i = 0; i < 300; i++)
        text_append_string(&html, "<x>");
    text_append_string(&html, "<meta property=og:title content=deep>");
    struct card_reader *reader = read_page(text_bytes(&html), NULL, 64, &card);
    expect(card.title, NULL);
    card_reader_free(reader);
    text_free(&html);
}

/* What declares it further on is not looked at, however much came at once. */
static void the_first_bytes_choose_the_character_set(void **state)
{
    struct text html = {0};
    struct card card;
    (void)state;
    text_append_string(&html, "<title>caf\xe9</title>");
    while (html.len < CARD_CHARSET_HEAD)
        text_append_char(&html, ' ');
    text_append_string(&html, "<meta charset=iso-8859-5>");
    for (size_t step = 1; step <= 2 * html.len; step *= 2) {
        struct card_reader *reader = read_page(text_bytes(&html), NULL, step, &card);
        expect(card.title, "caf\xc3\xa9");
        card_reader_free(reader);
    }
    text_free(&html);
}

static void the_body_ends_the_reading(void **state)
{
    struct card_reader *reader = card_reader_new(bytes_of(PAGE), BYTES_ABSENT);
    struct text html = {0};
    (void)state;
    text_append_string(&html, "<head><meta property=og:title content=t></head><body>");
    while (html.len < 2048)
        text_append_char(&html, ' ');
    assert_false(card_reader_feed(reader, text_bytes(&html)));
    assert_false(card_reader_feed(reader, text_bytes(&html)));
    card_reader_free(reader);
    reader = card_reader_new(bytes_of(PAGE), BYTES_ABSENT);
    size_t fed = 0;
    while (card_reader_feed(reader, bytes_make(html.data + html.len - 1024, 1024)))
        fed += 1024;
    assert_true(fed < CARD_PAGE_MAX);
    card_reader_free(reader);
    text_free(&html);
}

static void a_tag_of_very_many_attributes_ends_the_reading(void **state)
{
    static const char *const ends[] = {" ", "=''", "\n= b "};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct text html = {0};
        struct card card;
        text_append_string(&html, "<title>t</title><meta x='>' ");
        for (int k = 0; html.len < CARD_PAGE_MAX; k++)
            text_appendf(&html, "a%d%s", k, ends[i]);
        struct card_reader *reader = card_reader_new(bytes_of(PAGE), BYTES_ABSENT);
        size_t fed = 0;
        while (fed < html.len && card_reader_feed(reader, bytes_make(html.data + fed, 4096)))
            fed += 4096;
        assert_true(fed < CARD_PAGE_MAX / 8);
        card_reader_finish(reader, &card);
        expect(card.title, "t");
        card_reader_free(reader);
        text_free(&html);
    }
}

static void a_script_may_look_like_a_tag(void **state)
{
    struct text html = {0};
    struct card card;
    (void)state;
    text_append_string(&html, "<script type=text/template><div ");
    for (int i = 0; i < 10000; i++)
        text_append_string(&html, "a=b ");
    text_append_string(&html, "</script><meta property=og:title content=t>");
    struct card_reader *reader = read_page(text_bytes(&html), NULL, 4096, &card);
    expect(card.title, "t");
    card_reader_free(reader);
    text_free(&html);
}

/* Seconds of CPU that a page of one mebibyte, made of `start` and `piece` over and over, takes. */
static double time_page(const char *start, const char *piece, size_t step)
{
    struct text html = {0};
    struct card card;
    struct timespec before, after;
    text_append_string(&html, start);
    while (html.len < CARD_PAGE_MAX)
        text_append_string(&html, piece);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    card_reader_free(read_page(text_bytes(&html), NULL, step, &card));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    text_free(&html);
    return (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
}

static void hostile_pages_cost_little(void **state)
{
    static const struct {
        const char *start, *piece;
    } pages[] = {
        {"", "<div>"},
        {"<head>", "<noscript>"},
        {"<head>", "<script>"},
        {"<title>", "&amp;"},
        {"<title>", "&"},
        {"<title>", "<title>"},
        {"<!--", "-"},
        {"<!--", "<!--"},
        {"<!DOCTYPE x [", "<!ENTITY a '&a;&a;'>"},
        {"<meta content='", "a"},
        {"<meta content='", "&#x110000;"},
        {"<meta ", "a=b "},
        {"<meta ", "a='"},
        {"<", "<"},
        {"<?", "?"},
        {"<head>", "<meta property=og:image content=x>"},
        {"<head>", "</p>"},
        {"<head>", "<a></b>"},
        {"<script>", "</"},
        {"", "\xe6\x97\xa5"},
        {"", "\xff"},
        {"<title>", "]]>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        for (size_t step = 256; step <= CARD_PAGE_MAX; step *= 4096) {
            double seconds = time_page(pages[i].start, pages[i].piece, step);
            if (seconds > 2)
                fail_msg("%s%s...: %.2f s", pages[i].start, pages[i].piece, seconds);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_with_open_graph_tags_is_read),
        cmocka_unit_test(a_plain_page_has_its_title),
        cmocka_unit_test(a_page_may_be_in_any_of_the_webs_character_sets),
        cmocka_unit_test(characters_may_arrive_in_parts),
        cmocka_unit_test(labels_of_character_sets_are_sorted),
        cmocka_unit_test(addresses_on_a_page_are_absolute_and_public),
        cmocka_unit_test(a_page_is_believed_about_itself_only),
        cmocka_unit_test(only_pages_are_read),
        cmocka_unit_test(words_are_cut_between_characters),
        cmocka_unit_test(cleaned_words_stay_within_their_room),
        cmocka_unit_test(elements_too_deep_end_the_reading),
        cmocka_unit_test(the_first_bytes_choose_the_character_set),
        cmocka_unit_test(the_body_ends_the_reading),
        cmocka_unit_test(a_tag_of_very_many_attributes_ends_the_reading),
        cmocka_unit_test(a_script_may_look_like_a_tag),
        cmocka_unit_test(hostile_pages_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
