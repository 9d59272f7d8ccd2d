/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses as strangers write them: what they are read as, and what is refused. */
#include "decode/url.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <curl/curl.h>

struct reading {
    const char *input, *printed; /* NULL: refused */
};

static const struct reading readings[] = {
    /* the plain case, and what stands around it */
    {"https://example.com/a?b=c#d", "https://example.com/a?b=c#d"},
    {"  https://example.com/ \n", "https://example.com/"},
    {"https://exa\tmple.com/a\nb\r\n", "https://example.com/ab"},
    {"HTTPS://EXAMPLE.com", "https://example.com/"},
    {"http:\\\\example.com\\a\\b", "http://example.com/a/b"},
    {"https:example.com/a", "https://example.com/a"},
    {"https:/example.com/a", "https://example.com/a"},
    {"https://///example.com/a", "https://example.com/a"},
    {"https://example.com?x", "https://example.com/?x"},
    {"https://example.com#x", "https://example.com/#x"},
    {"https://example.com/?", "https://example.com/?"},
    /* credentials and ports */
    {"https://user:pass@example.com/", "https://example.com/"},
    {"https://a@b@example.com/", "https://example.com/"},
    {"https://example.com/@user", "https://example.com/@user"},
    {"https://example.com:443/", "https://example.com/"},
    {"http://example.com:443/", "http://example.com:443/"},
    {"http://example.com:0080/", "http://example.com/"},
    {"https://example.com:/", "https://example.com/"},
    {"https://example.com:8443/", "https://example.com:8443/"},
    {"https://example.com:65536/", NULL},
    {"https://example.com:0/", NULL},
    {"https://example.com:8a/", NULL},
    {"https://a:b:80/", NULL},
    /* dot segments */
    {"https://example.com/a/./b/../c", "https://example.com/a/c"},
    {"https://example.com/a/%2e/b/%2E%2e/c", "https://example.com/a/c"},
    {"https://example.com/a/.%2e", "https://example.com/"},
    {"https://example.com/../../x", "https://example.com/x"},
    {"https://example.com/a/b/..", "https://example.com/a/"},
    {"https://example.com/a/.", "https://example.com/a/"},
    {"https://example.com/...", "https://example.com/..."},
    {"https://example.com/a//b/", "https://example.com/a//b/"},
    /* escapes */
    {"https://example.com/a b?c d#e f", "https://example.com/a%20b?c%20d#e%20f"},
    {"https://example.com/caf\xc3\xa9", "https://example.com/caf%C3%A9"},
    {"https://example.com/%7e%zz%", "https://example.com/%7e%zz%"},
    {"https://example.com/a|b{c}^`\"<>", "https://example.com/a|b%7Bc%7D%5E%60%22%3C%3E"},
    {"https://example.com/?'\"<>`{}", "https://example.com/?%27%22%3C%3E`{}"},
    {"https://example.com/\x01\x7f", "https://example.com/%01%7F"},
    /* names */
    {"https://b\xc3\xbc"
     "cher.example/",
     "https://xn--bcher-kva.example/"},
    {"https://fa\xc3\x9f.de/", "https://xn--fa-hia.de/"},
    {"https://\xe4\xbe\x8b\xe3\x81\x88.jp/", "https://xn--r8jz45g.jp/"},
    {"https://\xef\xbd\x85xample\xe3\x80\x82"
     "com/",
     "https://example.com/"},
    {"https://XN--FA-HIA.de/", "https://xn--fa-hia.de/"},
    {"https://ex%61mple.com/", "https://example.com/"},
    {"https://a_b.example.com/", "https://a_b.example.com/"},
    {"https://example.com./", "https://example.com./"},
    {"https://localhost/", "https://localhost/"},
    {"https://exa mple.com/", NULL},
    {"https://exa%20mple.com/", NULL},
    {"https://a..b/", NULL},
    {"https://.a/", NULL},
    {"https:///", NULL},
    {"https://?x", NULL},
    {"https://a%00b/", NULL},
    {"https://a<b/", NULL},
    {"https://\xff\xfe/", NULL},
    /* numbers */
    {"http://0x7f.1/", "http://127.0.0.1/"},
    {"http://2130706433/", "http://127.0.0.1/"},
    {"http://0177.0.0.01/", "http://127.0.0.1/"},
    {"http://127.0.0.1./", "http://127.0.0.1/"},
    {"http://\xef\xbc\x91"
     "27.0.0.1/",
     "http://127.0.0.1/"},
    {"http://256.0.0.1/", NULL},
    {"http://1.2.3.4.5/", NULL},
    {"http://4294967296/", NULL},
    {"http://1.2.3.08/", NULL},
    {"http://a.1/", NULL},
    {"http://0x/", "http://0.0.0.0/"},
    {"http://[::1]/", "http://[::1]/"},
    {"http://[2001:DB8:0:0:1:0:0:1]:80/", "http://[2001:db8::1:0:0:1]/"},
    {"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"},
    {"http://[1:2:3:4:5:6:7::]/", "http://[1:2:3:4:5:6:7:0]/"},
    {"http://[::]/", "http://[::]/"},
    {"http://[1::2::3]/", NULL},
    {"http://[1:2:3:4:5:6:7:8:9]/", NULL},
    {"http://[12345::]/", NULL},
    {"http://[::1%25eth0]/", NULL},
    {"http://[::1/", NULL},
    {"http://[:1]/", NULL},
    {"http://[1:]/", NULL},
    {"http://[::1.2.3]/", NULL},
    {"http://[::01.2.3.4]/", NULL},
    {"http://[1:2:3:4:5:6:7:1.2.3.4]/", NULL},
    {"http://[1:2:3:4:5:6:1.2.3.4]/", "http://[1:2:3:4:5:6:102:304]/"},
    {"https://a123456789b123456789c123456789d123456789e123456789f123456789g12.example/",
     "https://a123456789b123456789c123456789d123456789e123456789f123456789g12.example/"},
    {"https://a123456789b123456789c123456789d123456789e123456789f123456789g123.example/", NULL},
    /* not ours */
    {"", NULL},
    {"example.com", NULL},
    {"ftp://example.com/", NULL},
    {"javascript:alert(1)", NULL},
    {"httpx://example.com/", NULL},
    {"http", NULL},
    {"https", NULL},
    {"at://did:plc:a/app.bsky.feed.post/1", NULL},
};

static void addresses_are_read_as_a_browser_reads_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        struct url url, again;
        struct err err = {""};
        struct text printed = {0}, second = {0};
        enum rc rc = url_parse(bytes_of(readings[i].input), &url, &err);
        if (readings[i].printed == NULL) {
            if (rc != RC_REJECT || err.text[0] == '\0')
                fail_msg("%s is not refused", readings[i].input);
            continue;
        }
        if (rc != RC_OK)
            fail_msg("%s: %s", readings[i].input, err.text);
        url_print(&url, true, &printed);
        assert_string_equal(text_string(&printed), readings[i].printed);
        assert_int_equal(url_parse(text_bytes(&printed), &again, &err), RC_OK);
        url_print(&again, true, &second);
        assert_string_equal(text_string(&second), readings[i].printed);
        text_free(&printed);
        text_free(&second);
    }
}

static void a_reference_is_read_from_where_it_stands(void **state)
{
    static const struct {
        const char *reference, *printed;
    } cases[] = {
        {"/x.png", "https://example.com:8443/x.png"},
        {"x.png", "https://example.com:8443/a/x.png"},
        {"../x.png", "https://example.com:8443/x.png"},
        {"//cdn.example.net/x.png", "https://cdn.example.net/x.png"},
        {"\\\\cdn.example.net/x.png", "https://cdn.example.net/x.png"},
        {"http://other.example/", "http://other.example/"},
        {"?y=2", "https://example.com:8443/a/b?y=2"},
        {"#z", "https://example.com:8443/a/b?q=1#z"},
        {"", "https://example.com:8443/a/b?q=1"},
        {"https:x.png", "https://example.com:8443/a/x.png"},
        {"HTTPS:/x.png", "https://example.com:8443/x.png"},
        {"https://cdn.example.net/x.png", "https://cdn.example.net/x.png"},
        {"http:x.png", "http://x.png/"},
        {"1:2", "https://example.com:8443/a/1:2"},
        {"data:image/png;base64,AAAA", NULL},
        {"javascript:alert(1)", NULL},
        {"ftp://example.com/", NULL},
    };
    struct url base, url;
    (void)state;
    assert_int_equal(url_parse(bytes_of("https://example.com:8443/a/b?q=1#f"), &base, NULL), RC_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text printed = {0};
        enum rc rc = url_join(&base, bytes_of(cases[i].reference), &url, NULL);
        assert_int_equal(rc, cases[i].printed == NULL ? RC_REJECT : RC_OK);
        if (rc == RC_OK) {
            url_print(&url, true, &printed);
            assert_string_equal(text_string(&printed), cases[i].printed);
        }
        text_free(&printed);
    }
}

static void private_places_are_known(void **state)
{
    static const struct {
        const char *url;
        bool local;
    } cases[] = {
        {"http://localhost/", true},
        {"http://printer/", true},
        {"http://nas.local/", true},
        {"http://x.localhost./", true},
        {"http://127.1/", true},
        {"http://10.2.3.4/", true},
        {"http://172.31.0.1/", true},
        {"http://172.32.0.1/", false},
        {"http://192.168.1.1/", true},
        {"http://169.254.169.254/", true},
        {"http://100.64.0.1/", true},
        {"http://224.0.0.1/", true},
        {"http://8.8.8.8/", false},
        {"http://[::1]/", true},
        {"http://[fe80::1]/", true},
        {"http://[fd00::1]/", true},
        {"http://[::ffff:10.0.0.1]/", true},
        {"http://[2606:4700::1]/", false},
        {"https://example.com/", false},
        {"https://local.example/", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url url;
        assert_int_equal(url_parse(bytes_of(cases[i].url), &url, NULL), RC_OK);
        if (url_is_local(&url) != cases[i].local)
            fail_msg("%s", cases[i].url);
    }
}

static void an_address_is_as_long_as_it_may_be_and_no_longer(void **state)
{
    struct text input = {0};
    struct url url;
    (void)state;
    text_append_string(&input, "https://example.com/");
    while (input.len < URL_BYTES_MAX - 16)
        text_append_char(&input, 'a');
    assert_int_equal(url_parse(text_bytes(&input), &url, NULL), RC_OK);
    while (input.len < URL_BYTES_MAX + 1)
        text_append_char(&input, 'a');
    assert_int_equal(url_parse(text_bytes(&input), &url, NULL), RC_REJECT);
    text_clear(&input);
    text_append_string(&input, "https://example.com/");
    while (input.len < URL_BYTES_MAX / 2)
        text_append_char(&input, ' ');
    text_append_char(&input, 'x'); /* as escapes they are three times as long */
    assert_int_equal(url_parse(text_bytes(&input), &url, NULL), RC_REJECT);
    text_free(&input);
}

/* One part as libcurl reads it, or NULL. */
static char *curl_part(CURLU *handle, CURLUPart part)
{
    char *text = NULL;
    return curl_url_get(handle, part, &text, 0) == CURLUE_OK ? text : NULL;
}

static void compare_part(const char *input, struct bytes ours, char *theirs)
{
    if (!bytes_equal_string(ours, theirs == NULL ? "" : theirs))
        fail_msg("%s: ours %.*s, libcurl's %s", input, (int)ours.len, ours.data, theirs);
    curl_free(theirs);
}

/* Where both say what they read: lower-case names, no odd bytes, no escaped dots. */
static void compare_with_curl(const char *input)
{
    struct url url;
    CURLU *handle = curl_url();
    CURLUcode code = curl_url_set(handle, CURLUPART_URL, input, 0);
    enum rc rc = url_parse(bytes_of(input), &url, NULL);
    if ((rc == RC_OK) != (code == CURLUE_OK))
        fail_msg("%s: ours %s, libcurl %d", input, rc_name(rc), (int)code);
    if (rc == RC_OK) {
        char *port = curl_part(handle, CURLUPART_PORT), digits[8] = "";
        if (url.port != 0)
            snprintf(digits, sizeof digits, "%u", url.port);
        const char *expected = port == NULL ? "" : port;
        if (strcmp(expected, url.https ? "443" : "80") == 0)
            expected = "";
        assert_string_equal(digits, expected);
        curl_free(port);
        compare_part(input, url.host, curl_part(handle, CURLUPART_HOST));
        compare_part(input, url.path, curl_part(handle, CURLUPART_PATH));
        compare_part(input, url.query, curl_part(handle, CURLUPART_QUERY));
        compare_part(input, url.fragment, curl_part(handle, CURLUPART_FRAGMENT));
    }
    curl_url_cleanup(handle);
}

static void put_random(struct text *out, struct seeded *random, const char *letters, size_t max)
{
    for (size_t left = seeded_below(random, max + 1); left > 0; left--)
        text_append_char(out, letters[seeded_below(random, strlen(letters))]);
}

static void libcurl_reads_the_same_where_it_can_be_compared(void **state)
{
    static const char *const hosts[] = {"example.com",   "a.b.c.example.org", "0x7f.1",
                                        "127.0.0.1",     "2130706433",        "[::1]",
                                        "[2001:db8::1]", "x-y_z.net"};
    static const char *const users[] = {"", "", "", "user@", "user:secret@"};
    static const char *const ports[] = {"", "", ":80", ":443", ":8080", ":65535"};
    static const char *const parts[] = {"/", "/.", "/..", "/./", "/../", "/a", "/b.c", "/%41"};
    struct seeded random = seeded_start("libcurl_reads_the_same_where_it_can_be_compared");
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct text input = {0};
        text_append_string(&input, seeded_below(&random, 2) == 0 ? "http://" : "https://");
        text_append_string(&input, users[seeded_below(&random, 5)]);
        text_append_string(&input, hosts[seeded_below(&random, 8)]);
        text_append_string(&input, ports[seeded_below(&random, 6)]);
        text_append_char(&input, '/');
        for (uint64_t left = seeded_below(&random, 6); left > 0; left--)
            text_append_string(&input, parts[seeded_below(&random, 8)]);
        if (seeded_below(&random, 2) == 0) {
            text_append_char(&input, '?');
            text_append_char(&input, 'q');
            put_random(&input, &random, "ab=&+%2/?:@", 12);
        }
        if (seeded_below(&random, 3) == 0) {
            text_append_char(&input, '#');
            text_append_char(&input, 'f');
            put_random(&input, &random, "ab/?:@!", 12);
        }
        compare_with_curl(text_string(&input));
        text_free(&input);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_as_a_browser_reads_them),
        cmocka_unit_test(a_reference_is_read_from_where_it_stands),
        cmocka_unit_test(private_places_are_known),
        cmocka_unit_test(an_address_is_as_long_as_it_may_be_and_no_longer),
        cmocka_unit_test(libcurl_reads_the_same_where_it_can_be_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
