/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/address.h"
#include "sys/http_url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

/* Each range as people write it: its first and last address, and whether the neighbours outside
 * are public. Written out by hand, apart from the table under test. */
static const struct edge {
    const char *first, *last, *before, *after;
    bool before_public, after_public;
} edges4[] = {
    {"0.0.0.0", "0.255.255.255", NULL, "1.0.0.0", false, true},
    {"10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0", true, true},
    {"100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0", true, true},
    {"127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0", true, true},
    {"169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0", true, true},
    {"172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0", true, true},
    {"192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0", true, true},
    {"192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0", true, true},
    {"192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0", true, true},
    {"192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0", true, true},
    {"198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0", true, true},
    {"198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0", true, true},
    {"203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0", true, true},
    {"224.0.0.0", "239.255.255.255", "223.255.255.255", "240.0.0.0", true, false},
    {"240.0.0.0", "255.255.255.255", "239.255.255.255", NULL, false, false},
};

static const struct edge edges6[] = {
    {"::", "::fffe:ffff:ffff", NULL, NULL, false, false},
    {"::1", "::1", "::", "::2", false, false},
    {"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NULL, "64:ff9b:2::", false, false},
    {"100::", "100::ffff:ffff:ffff:ffff", NULL, NULL, false, false},
    {"::1:0:0:0", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "2000::", false, true},
    {"2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:1::", true, false},
    {"2001:2::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:1::", "2001:200::", false, true},
    {"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", true, true},
    {"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "3fff:1000::", true, true},
    {"4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "fc00::", true, false},
    {"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "fe00::", false, false},
    {"fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "fec0::", false, false},
    {"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL, false, false},
};

static void assert_verdict(const char *text, bool is_public)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;
    if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
        address.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
        address.ss_family = AF_INET6;
    else
        fail_msg("the test's address %s cannot be read", text);
    if (address_is_public((const struct sockaddr *)&address) != is_public ||
        address_text_is_public(text) != is_public)
        fail_msg("%s is judged %s", text, is_public ? "not public" : "public");
}

static void check_edge(const struct edge *edge, const char *prefix)
{
    char text[80];
    snprintf(text, sizeof text, "%s%s", prefix, edge->first);
    assert_verdict(text, false);
    snprintf(text, sizeof text, "%s%s", prefix, edge->last);
    assert_verdict(text, false);
    if (edge->before != NULL) {
        snprintf(text, sizeof text, "%s%s", prefix, edge->before);
        assert_verdict(text, edge->before_public);
    }
    if (edge->after != NULL) {
        snprintf(text, sizeof text, "%s%s", prefix, edge->after);
        assert_verdict(text, edge->after_public);
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void every_edge_of_every_ipv4_range_is_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(edges4); i++)
        check_edge(&edges4[i], "");
    assert_verdict("8.8.8.8", true);
    assert_verdict("169.254.169.254", false);
}

static void every_edge_of_every_ipv6_range_is_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(edges6); i++)
        check_edge(&edges6[i], "");
    assert_verdict("2606:4700:4700::1111", true);
}

static void an_ipv4_address_inside_an_ipv6_one_counts_as_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(edges4); i++) {
        check_edge(&edges4[i], "::ffff:");
        check_edge(&edges4[i], "64:ff9b::");
        const char *all[] = {edges4[i].first, edges4[i].last, edges4[i].before, edges4[i].after};
        bool verdicts[] = {false, false, edges4[i].before_public, edges4[i].after_public};
        for (size_t j = 0; j < COUNT(all); j++) {
            uint8_t b[4];
            char text[80];
            if (all[j] == NULL)
                continue;
            inet_pton(AF_INET, all[j], b);
            snprintf(text, sizeof text, "2002:%02x%02x:%02x%02x::1", b[0], b[1], b[2], b[3]);
            assert_verdict(text, verdicts[j]);
        }
    }
    /* Just outside the wrappers nothing is unwrapped. */
    assert_verdict("::fffe:8.8.8.8", false);
    assert_verdict("::1:0:8.8.8.8", false);
    assert_verdict("::8.8.8.8", false);
    assert_verdict("64:ff9b::1:8.8.8.8", false);
    assert_verdict("64:ff9a::8.8.8.8", false);
    assert_verdict("2003:0a00:0001::1", true);
    assert_verdict("2001:ffff:0a00:0001::1", true);
}

static void what_is_no_internet_address_is_not_public(void **state)
{
    (void)state;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    assert_false(address_is_public((const struct sockaddr *)&local));
    assert_false(address_text_is_public(""));
    assert_false(address_text_is_public("localhost"));
    assert_false(address_text_is_public("8.8.8.8:80"));
    assert_false(address_text_is_public("010.8.8.8"));
}

/* The library undoes escapes in a name; what comes out must be fit to be said and sent. */
static void a_host_has_only_letters_that_can_be_seen(void **state)
{
    (void)state;
    static const char *const bad[] = {"//a%7f/b", "https://a%7Fb.example/", "http://%7f"};
    const struct http_url_rules rules = {.stranger = true};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct http_url url = {0};
        struct err err = {""};
        assert_int_equal(http_url_parse(bad[i], "https://page.example/", &rules, &url, &err),
                         RC_REJECT);
        assert_string_not_equal(err.text, "");
        assert_null(url.text);
    }
}

/* "0x%443" is the name 0xD3 at first, and the address 0.0.0.211 when it is read again. */
static void a_host_is_read_in_one_way(void **state)
{
    (void)state;
    static const char *const bad[] = {"//0x%443/", "http://0x%37f000001/", "///@0x%443/a"};
    const struct http_url_rules rules = {.stranger = true};
    struct http_url url = {0};
    struct err err = {""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        enum rc rc = http_url_parse(bad[i], "https://page.example/", &rules, &url, &err);
        assert_true(rc == RC_REJECT || strspn(url.host, "0123456789.") == strlen(url.host));
        http_url_deinit(&url);
    }
    assert_int_equal(http_url_parse("http://a.example/%44?x", NULL, &rules, &url, &err), RC_OK);
    assert_string_equal(url.host, "a.example");
    http_url_deinit(&url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_read_in_one_way),
        cmocka_unit_test(a_host_has_only_letters_that_can_be_seen),
        cmocka_unit_test(every_edge_of_every_ipv4_range_is_judged),
        cmocka_unit_test(every_edge_of_every_ipv6_range_is_judged),
        cmocka_unit_test(an_ipv4_address_inside_an_ipv6_one_counts_as_itself),
        cmocka_unit_test(what_is_no_internet_address_is_not_public),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
