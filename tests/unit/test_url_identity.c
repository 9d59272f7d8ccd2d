/* SPDX-License-Identifier: Apache-2.0
 *
 * One identity per article, and what is not folded because it could be two. */
#include "decode/url_identity.h"
#include "decode/url_rules.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct folding {
    const char *input, *normalized;
};

static const struct folding foldings[] = {
    /* scheme and host */
    {"http://www.example.com/a", "https://example.com/a"},
    {"https://m.example.com./a", "https://example.com/a"},
    {"https://www.m.example.co.uk/a", "https://example.co.uk/a"},
    {"https://mobile.example.com/a", "https://example.com/a"},
    {"https://en.m.wikipedia.org/wiki/Tide_(sea)", "https://en.wikipedia.org/wiki/Tide_(sea)"},
    {"https://www.gov.uk/a", "https://www.gov.uk/a"},
    {"https://m.com/a", "https://m.com/a"},
    {"https://www.co.uk/a", "https://www.co.uk/a"},
    {"https://www.github.io/a", "https://www.github.io/a"},
    {"https://m.media-amazon.com/a", "https://m.media-amazon.com/a"},
    {"http://example.com:8080/a", "http://example.com:8080/a"},
    {"https://example.com:8443/a", "https://example.com:8443/a"},
    {"http://127.0.0.1:1234/a", "http://127.0.0.1:1234/a"},
    {"https://edition.cnn.com/a", "https://cnn.com/a"},
    {"https://www.bbc.co.uk/news/a1", "https://bbc.com/news/a1"},
    {"https://help.twitter.com/en", "https://help.twitter.com/en"},
    {"https://old.reddit.com/r/a/comments/1/", "https://reddit.com/r/a/comments/1"},
    /* escapes, slashes, fragments */
    {"https://example.com/%7ejoe/%c3%a9%2fx", "https://example.com/~joe/%C3%A9%2Fx"},
    {"https://example.com/100%", "https://example.com/100%25"},
    {"https://example.com/%%32e%%32e/", "https://example.com/%252e%252e"},
    {"https://example.com/a/", "https://example.com/a"},
    {"https://example.com/a//", "https://example.com/a"},
    {"https://example.com//a", "https://example.com//a"},
    {"https://example.com", "https://example.com/"},
    {"https://example.com/?", "https://example.com/"},
    {"https://example.com/A", "https://example.com/A"},
    {"https://example.com/a#section", "https://example.com/a"},
    {"https://example.com/a#:~:text=so", "https://example.com/a"},
    {"https://example.com/#!/a/1", "https://example.com/#!/a/1"},
    {"https://example.com/app#/a/1", "https://example.com/app#/a/1"},
    {"https://example.com/app#/", "https://example.com/app"},
    /* queries */
    {"https://example.com/a?utm_source=x&id=1&UTM_Medium=y&fbclid=z", "https://example.com/a?id=1"},
    {"https://example.com/a?utm%5Fsource=x", "https://example.com/a"},
    {"https://example.com/a?b=2&a=1&b=3", "https://example.com/a?b=2&a=1&b=3"},
    {"https://example.com/a?&&b=2&", "https://example.com/a?b=2"},
    {"https://example.com/a?b=1&amp;c=2&amp;amp;utm_source=x", "https://example.com/a?b=1&c=2"},
    {"https://example.com/a?p=1#more", "https://example.com/a?p=1"},
    {"https://example.com/a?ref=news.example.com", "https://example.com/a"},
    {"https://example.com/a?ref=main", "https://example.com/a?ref=main"},
    {"https://example.com/a?s=1&t=2&si=3&source=4", "https://example.com/a?s=1&t=2&si=3&source=4"},
    {"https://www.nytimes.com/a.html?smid=url-share&source=x", "https://nytimes.com/a.html"},
    {"https://www.bbc.com/news/a1?at_link_id=x&b=1", "https://bbc.com/news/a1?b=1"},
    {"https://example.com/a1?at_link_id=x", "https://example.com/a1?at_link_id=x"},
    {"https://open.spotify.com/track/1?si=x", "https://open.spotify.com/track/1"},
    {"https://author.substack.com/p/a?r=1&s=w", "https://author.substack.com/p/a"},
    {"https://example.com/?r=1", "https://example.com/?r=1"},
    /* gifts */
    {"https://www.nytimes.com/2024/01/01/us/a.html?unlocked_article_code=1.AB&smid=nytcore",
     "https://nytimes.com/2024/01/01/us/a.html"},
    {"https://www.theatlantic.com/a/?gift=abc", "https://theatlantic.com/a"},
    {"https://example.com/a?gift=abc", "https://example.com/a?gift=abc"},
    /* AMP */
    {"https://www.google.com/amp/s/www.example.com/a-1/amp/", "https://example.com/a-1"},
    /* Found by fuzzing: what is a name only without its ending is taken out of its shell, too. */
    {"https://www.google.com/amp/s/ww.goog.amp", "https://ww.goog/"},
    /* The same: a control that ends an address in a shell is none of it, also before a query. */
    {"https://archive.ph/https%3A//example.com/a%16%00?hsa_x=1", "https://example.com/a"},
    {"https://archive.ph/https%3A//example.com/a%16%00", "https://example.com/a"},
    {"https://www-example-com.cdn.ampproject.org/c/s/www.example.com/a?amp=1&id=2",
     "https://example.com/a?id=2"},
    {"https://amp.example.com/a", "https://example.com/a"},
    {"https://example.com/2024/story.amp.html", "https://example.com/2024/story.amp.html"},
    {"https://example.com/story-1.amp.html", "https://example.com/story-1.html"},
    {"https://example.com/story-1.amp", "https://example.com/story-1"},
    {"https://example.com/a-story?outputType=amp", "https://example.com/a-story"},
    {"https://example.com/a?output=1", "https://example.com/a?output=1"},
    {"https://example.com/a//..amp", "https://example.com/a//..amp"},
    {"https://example.com/guitar/amp", "https://example.com/guitar/amp"},
    {"https://github.com/a-b/amp", "https://github.com/a-b/amp"},
    {"https://www.cbsnews.com/amp/news/a-story/", "https://cbsnews.com/news/a-story"},
    /* archives and redirectors */
    {"https://web.archive.org/web/20240101000000/https://www.example.com/a?b=1&utm_source=x",
     "https://example.com/a?b=1"},
    {"https://web.archive.org/web/20240101000000if_/http://example.com:80/a/",
     "https://example.com/a"},
    {"https://web.archive.org/web/2024/example.com/a", "https://example.com/a"},
    {"https://archive.ph/https://example.com/a", "https://example.com/a"},
    {"https://archive.today/newest/http://example.com/a#b", "https://example.com/a"},
    {"https://archive.is/2024.01.01-000000/https://example.com/a", "https://example.com/a"},
    {"https://archive.is/o/AbCdE/https://example.com/a", "https://example.com/a"},
    {"https://archive.ph/?run=1&url=https%3A%2F%2Fexample.com%2Fa", "https://example.com/a"},
    {"https://archive.ph/AbCdE", "https://archive.ph/AbCdE"},
    {"https://www.google.com/url?sa=t&url=https%3A%2F%2Fexample.com%2Fa%3Fb%3D1&usg=x",
     "https://example.com/a?b=1"},
    {"https://l.facebook.com/l.php?u=https%3A%2F%2Fexample.com%2F%3Ffbclid%3Dx&h=y",
     "https://example.com/"},
    {"https://go.bsky.app/redirect?u=https%3A%2F%2Fwww.youtube.com%2Fredirect%3Fq%3Dhttps%253A%252F"
     "%252Fexample.com%252Fa",
     "https://example.com/a"},
    {"https://www.google.com/url?q=notanaddress", "https://google.com/url?q=notanaddress"},
    {"https://www.google.com/search?q=https://example.com",
     "https://google.com/search?q=https://example.com"},
    /* by number */
    {"https://youtu.be/dQw4w9WgXcQ?si=x&t=10", "https://youtube.com/watch?v=dQw4w9WgXcQ"},
    {"https://m.youtube.com/watch?t=1&v=dQw4w9WgXcQ&list=PL1",
     "https://youtube.com/watch?v=dQw4w9WgXcQ"},
    {"https://www.youtube.com/shorts/dQw4w9WgXcQ/", "https://youtube.com/watch?v=dQw4w9WgXcQ"},
    {"https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ",
     "https://youtube.com/watch?v=dQw4w9WgXcQ"},
    {"https://www.youtube.com/playlist?list=PL1&si=x", "https://youtube.com/playlist?list=PL1"},
    {"https://www.youtube.com/channelname", "https://youtube.com/channelname"},
    {"https://twitter.com/a/status/12345?s=20&t=x", "https://x.com/i/status/12345"},
    {"https://mobile.twitter.com/b/status/12345/photo/1", "https://x.com/i/status/12345"},
    {"https://www.amazon.com/A-Title/dp/B000000001/ref=sr_1_1?tag=x",
     "https://amazon.com/dp/B000000001"},
};

static void addresses_of_one_article_have_one_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof foldings / sizeof foldings[0]; i++) {
        struct url_identity identity;
        struct err err = {""};
        if (url_normalize(bytes_of(foldings[i].input), &identity, &err) != RC_OK)
            fail_msg("%s: %s", foldings[i].input, err.text);
        if (!bytes_equal_string(identity.normalized, foldings[i].normalized))
            fail_msg("%s gives %.*s", foldings[i].input, (int)identity.normalized.len,
                     identity.normalized.data);
    }
}

static void a_reader_gets_what_was_shared_without_the_tracking(void **state)
{
    static const struct folding cases[] = {
        {"https://www.nytimes.com/a.html?unlocked_article_code=1.AB.x&smid=url-share",
         "https://www.nytimes.com/a.html?unlocked_article_code=1.AB.x"},
        {"https://www.wsj.com/a-1?st=abc&reflink=desktopwebshare_permalink",
         "https://www.wsj.com/a-1?st=abc"},
        {"http://www.example.com/a/?utm_source=x&b=%7e#there",
         "http://www.example.com/a/?b=%7e#there"},
        {"https://l.facebook.com/l.php?u=https%3A%2F%2Fwww.example.com%2Fa",
         "https://www.example.com/a"},
        {"https://archive.ph/newest/https://example.com/a",
         "https://archive.ph/newest/https://example.com/a"},
        {"https://user:secret@example.com/a", "https://example.com/a"},
        {"https://example.com/a?b=1&amp;c=2", "https://example.com/a?b=1&c=2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url_identity identity;
        assert_int_equal(url_normalize(bytes_of(cases[i].input), &identity, NULL), RC_OK);
        if (!bytes_equal_string(identity.reader, cases[i].normalized))
            fail_msg("%s gives %.*s", cases[i].input, (int)identity.reader.len,
                     identity.reader.data);
    }
}

static void what_is_no_article_is_marked(void **state)
{
    static const struct {
        const char *url, *domain;
        unsigned flags;
    } cases[] = {
        {"https://www.nytimes.com/a?unlocked_article_code=x", "nytimes.com", URL_GIFT},
        {"https://www.nytimes.com/a?unlocked_article_code=", "nytimes.com", 0},
        {"https://archive.ph/newest/https://news.example.co.uk/a", "example.co.uk", URL_ARCHIVE},
        {"https://bit.ly/abc", "bit.ly", URL_SHORTENER},
        {"https://bit.ly/", "bit.ly", 0},
        {"https://t.co/abc", "t.co", URL_SHORTENER},
        {"https://maps.app.goo.gl/abc", "goo.gl", URL_SHORTENER},
        {"https://i.redd.it/abc.jpg", "redd.it", URL_IMAGE},
        {"https://redd.it/abc", "redd.it", URL_SHORTENER},
        {"https://tenor.com/view/a-1", "tenor.com", URL_GIF | URL_IMAGE},
        {"https://media.tenor.com/a/b.gif?hh=1&ww=2", "tenor.com", URL_GIF | URL_IMAGE},
        {"https://nottenor.com/view", "nottenor.com", 0},
        {"https://example.com/?u=tenor.com", "example.com", 0},
        {"https://example.com/a.PNG?w=1", "example.com", URL_IMAGE},
        {"https://example.com/a.gif", "example.com", URL_GIF | URL_IMAGE},
        {"https://example.com/jpg", "example.com", 0},
        {"https://commons.wikimedia.org/wiki/File:A.jpg", "wikimedia.org", 0},
        {"https://bsky.app/profile/a/post/1", "bsky.app", URL_SELF},
        {"https://alice.bsky.social/", "bsky.social", URL_SELF},
        {"https://bsky.social/about/blog/1", "bsky.social", 0},
        {"https://example.com/bsky.app", "example.com", 0},
        {"http://[::1]:8080/", "[::1]", 0},
        {"http://127.0.0.1:8080/a", "127.0.0.1", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url_identity identity;
        assert_int_equal(url_normalize(bytes_of(cases[i].url), &identity, NULL), RC_OK);
        if (identity.flags != cases[i].flags ||
            !bytes_equal_string(identity.domain, cases[i].domain))
            fail_msg("%s: flags %x, domain %.*s", cases[i].url, identity.flags,
                     (int)identity.domain.len, identity.domain.data);
    }
}

static void put_pick(struct text *out, struct seeded *random, const char *const *from, size_t count)
{
    text_append_string(out, from[seeded_below(random, count)]);
}

/* An address of parts that tables and rules care about. */
static void put_address(struct text *out, struct seeded *random)
{
    static const char *const hosts[] = {
        "example.com",     "www.example.co.uk", "m.youtube.com",        "youtu.be",
        "twitter.com",     "www.nytimes.com",   "www.google.com",       "archive.ph",
        "amp.cbsnews.com", "web.archive.org",   "x.cdn.ampproject.org", "en.m.wikipedia.org",
        "bit.ly",          "caf\xc3\xa9.de",    "127.0.0.1:8080",       "www.gov.uk."};
    static const char *const parts[] = {"/",
                                        "/a-1",
                                        "/amp",
                                        "/amp/",
                                        "/watch",
                                        "/shorts/dQw4w9WgXcQ",
                                        "/status/123",
                                        "/%7e",
                                        "/%%32e",
                                        "/../",
                                        "/s",
                                        "/c",
                                        "/url",
                                        "/web/2020",
                                        "/example.org",
                                        "/https://example.net",
                                        ".amp.html",
                                        ".gif",
                                        " ",
                                        "\xc3\xa9",
                                        "/dQw4w9WgXcQ",
                                        "/%2e%2E"};
    static const char *const params[] = {
        "id=1",
        "v=dQw4w9WgXcQ",
        "q=https%3A%2F%2Fwww.google.com%2Furl%3Fq%3Dhttp%253A%252F%252Fa.com",
        "url=http://x.org/?a=1",
        "%61=%zz",
        "s=1",
        "ref=a.com",
        "gift=1",
        "amp",
        "amp;b=1",
        "",
        "+=+"};
    text_append_string(out, seeded_below(random, 2) == 0 ? "http://" : "https://");
    put_pick(out, random, hosts, 16);
    text_append_char(out, '/');
    for (uint64_t left = seeded_below(random, 5); left > 0; left--)
        put_pick(out, random, parts, 22);
    for (uint64_t left = seeded_below(random, 4), i = 0; i < left; i++) {
        text_append_char(out, i == 0 ? '?' : '&');
        put_pick(out, random, params, 12);
    }
    if (seeded_below(random, 4) == 0)
        text_append_string(out, seeded_below(random, 2) == 0 ? "#!/x y" : "#there");
}

static void a_name_is_its_own_name_and_an_address(void **state)
{
    struct seeded random = seeded_start("a_name_is_its_own_name_and_an_address");
    (void)state;
    for (int i = 0; i < 50000; i++) {
        struct text input = {0}, printed = {0};
        struct url_identity first, second;
        struct url url;
        put_address(&input, &random);
        if (url_normalize(text_bytes(&input), &first, NULL) != RC_OK)
            fail_msg("%s is refused", text_string(&input));
        if (url_normalize(first.normalized, &second, NULL) != RC_OK ||
            !bytes_equal(first.normalized, second.normalized))
            fail_msg("%s gives %.*s, which gives %.*s", text_string(&input),
                     (int)first.normalized.len, first.normalized.data, (int)second.normalized.len,
                     second.normalized.data);
        assert_int_equal(url_parse(first.normalized, &url, NULL), RC_OK);
        url_print(&url, true, &printed);
        assert_true(bytes_equal(first.normalized, text_bytes(&printed)));
        assert_int_equal(url_parse(first.reader, &url, NULL), RC_OK);
        text_free(&input);
        text_free(&printed);
    }
}

static void tracking_makes_no_difference(void **state)
{
    static const char *const hosts[] = {"example.com/a", "www.nytimes.com/b.html", "x.com/c/d",
                                        "open.spotify.com/track/e", "example.org/"};
    static const char *const tracks[] = {
        "utm_source=a",  "UTM_CAMPAIGN=b&c",     "fbclid=d", "gclid=",     "mc_cid",
        "mtm_kwd=e%20f", "ref=news.example.com", "igshid=g", "Utm%5FId=h", "_ga=1.2"};
    struct seeded random = seeded_start("tracking_makes_no_difference");
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct text plain = {0}, tracked = {0};
        struct url_identity one, other;
        bool first_plain = true, first_tracked = true, c = false;
        text_appendf(&plain, "https://%s", hosts[seeded_below(&random, 5)]);
        text_appendf(&tracked, "%s", text_string(&plain));
        for (uint64_t left = seeded_below(&random, 6); left > 0; left--) {
            bool track = seeded_below(&random, 2) == 0;
            const char *parameter = tracks[seeded_below(&random, 10)];
            char kept[16];
            snprintf(kept, sizeof kept, "k%d=%d", (int)left, (int)seeded_below(&random, 9));
            /* What follows an & inside a tracking value is a parameter of its own. */
            c = track && strchr(parameter, '&') != NULL;
            if (!track || c) {
                text_appendf(&plain, "%c%s", first_plain ? '?' : '&', c ? "c" : kept);
                first_plain = false;
            }
            text_appendf(&tracked, "%c%s", first_tracked ? '?' : '&', track ? parameter : kept);
            first_tracked = false;
        }
        assert_int_equal(url_normalize(text_bytes(&plain), &one, NULL), RC_OK);
        assert_int_equal(url_normalize(text_bytes(&tracked), &other, NULL), RC_OK);
        if (!bytes_equal(one.normalized, other.normalized))
            fail_msg("%s and %s differ", text_string(&plain), text_string(&tracked));
        text_free(&plain);
        text_free(&tracked);
    }
}

static void shells_in_shells_end(void **state)
{
    struct text input = {0};
    struct url_identity identity;
    (void)state;
    for (int i = 0; i < 8; i++)
        text_append_string(&input, "https://archive.ph/");
    text_append_string(&input, "https://example.com/a");
    assert_int_equal(url_normalize(text_bytes(&input), &identity, NULL), RC_OK);
    assert_true(bytes_equal_string(identity.normalized, "https://example.com/a"));
    text_clear(&input);
    for (int i = 0; i < 9; i++)
        text_append_string(&input, "https://archive.ph/");
    text_append_string(&input, "https://example.com/a");
    assert_int_equal(url_normalize(text_bytes(&input), &identity, NULL), RC_REJECT);
    text_clear(&input);
    text_append_string(&input, "https://example.com/");
    while (input.len <= URL_IDENTITY_MAX)
        text_append_char(&input, 'a');
    assert_int_equal(url_normalize(text_bytes(&input), &identity, NULL), RC_REJECT);
    text_free(&input);
}

static void lower_and_sorted(const char *before, const char *key)
{
    if (before != NULL && strcmp(before, key) > 0)
        fail_msg("%s stands before %s", before, key);
    for (const char *c = key; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            fail_msg("%s is not in lower case", key);
}

static void tables_are_sorted_and_in_lower_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < url_host_rules_count; i++) {
        const struct url_host_rule *rule = &url_host_rules[i];
        lower_and_sorted(i == 0 ? NULL : rule[-1].host, rule->host);
        if (i > 0)
            assert_string_not_equal(rule[-1].host, rule->host);
        lower_and_sorted(NULL, rule->drop == NULL ? "" : rule->drop);
        lower_and_sorted(NULL, rule->gift == NULL ? "" : rule->gift);
        if (rule->same_as != NULL) {
            const struct url_host_rule *twin = url_host_rule_find(bytes_of(rule->same_as));
            assert_true(twin == NULL || twin->same_as == NULL);
        }
    }
    for (size_t i = 0; i < url_wrappers_count; i++)
        lower_and_sorted(i == 0 ? NULL : url_wrappers[i - 1].host, url_wrappers[i].host);
    for (size_t i = 0; i < url_shorteners_count; i++)
        lower_and_sorted(i == 0 ? NULL : url_shorteners[i - 1], url_shorteners[i]);
    for (size_t i = 0; i < url_tracking_count; i++)
        lower_and_sorted(i == 0 ? NULL : url_tracking[i - 1], url_tracking[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_one_article_have_one_name),
        cmocka_unit_test(a_reader_gets_what_was_shared_without_the_tracking),
        cmocka_unit_test(what_is_no_article_is_marked),
        cmocka_unit_test(a_name_is_its_own_name_and_an_address),
        cmocka_unit_test(tracking_makes_no_difference),
        cmocka_unit_test(shells_in_shells_end),
        cmocka_unit_test(tables_are_sorted_and_in_lower_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
