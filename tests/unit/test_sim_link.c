/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator knows by construction what every spelling of an address means. Here that knowledge
 * meets the product's normaliser: two codes that share nothing must agree. */
#include "base/json.h"
#include "decode/post_links.h"
#include "sim/event_json.h"
#include "sim/press.h"
#include "sim/truth_link.h"
#include "sim/web_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGES       600
#define EVENTS      6000
#define ARENA_BYTES (1u << 20)

static struct world *make_world(bool press)
{
    struct world_options options = world_options_default();
    options.press = press;
    options.links = PAGES;
    options.web_percent = 20;
    options.named_percent = 20;
    memcpy(options.web_base, "http://127.0.0.1:4321", sizeof "http://127.0.0.1:4321");
    return world_new(&options);
}

static void check_spellings(struct world *world)
{
    for (uint32_t link = 0; link < PAGES; link++) {
        for (uint32_t spelling = 0; spelling < SPELLING_COUNT; spelling++) {
            char spelled[URL_SIZE], expected[URL_SIZE];
            uint32_t address = web_link_address(world, link, spelling);
            struct url_identity identity;
            struct err err = {""};
            web_link_spell(world, link, spelling, spelled);
            web_link_url(world, address, expected);
            if (url_normalize(bytes_of(spelled), &identity, &err) != RC_OK)
                fail_msg("%s: %s", spelled, err.text);
            if (!bytes_equal_string(identity.normalized, expected))
                fail_msg("%s gives %.*s, not %s", spelled, (int)identity.normalized.len,
                         identity.normalized.data, expected);
            assert_int_equal((identity.flags & URL_NO_NEWS) == 0, web_link_is_news(world, address));
        }
    }
    world_free(world);
}

static void every_spelling_means_its_page(void **state)
{
    (void)state;
    check_spellings(make_world(false));
    check_spellings(make_world(true));
}

static void a_paper_has_a_name_on_this_machine_and_a_headline_of_its_own(void **state)
{
    static char headlines[PRESS_ARTICLES][PRESS_HEADLINE_SIZE];
    static const char machine[] = ".localhost";
    (void)state;
    for (uint32_t article = 0; article < PRESS_ARTICLES; article++) {
        char host[PRESS_HOST_SIZE];
        press_host(7, article, host);
        press_headline(7, article, headlines[article]);
        assert_string_equal(host + strlen(host) - strlen(machine), machine);
        for (uint32_t other = 0; other < article; other++)
            assert_string_not_equal(headlines[article], headlines[other]);
    }
}

/* Letters that every font has: ASCII and what Europe adds to it. */
static void assert_plain(const char *words)
{
    for (const unsigned char *at = (const unsigned char *)words; *at != '\0'; at++)
        if (*at >= 0xd0)
            fail_msg("%s", words);
}

static void people_of_the_press_speak_plainly(void **state)
{
    struct world *world = make_world(true);
    char name[NAME_SIZE];
    struct text record = {0};
    (void)state;
    world_grow(world, EVENTS);
    for (uint32_t k = 0; k < EVENTS; k++) {
        const struct world_event *event = world_event(world, k);
        world_display_name(world, event->account, k, name);
        assert_plain(name);
        if (event->collection != COLLECTION_POST ||
            (event->kind != EVENT_CREATE && event->kind != EVENT_UPDATE))
            continue;
        text_clear(&record);
        event_json_record(world, k, &record);
        assert_plain(text_string(&record));
    }
    text_free(&record);
    world_free(world);
}

static void pages_of_a_block_turn_out_to_be_one(void **state)
{
    struct world *world = make_world(false);
    unsigned merged = 0;
    (void)state;
    for (uint32_t address = 0; address < 2 * PAGES; address++) {
        uint32_t same = web_link_merged(world, address);
        assert_int_equal(web_link_merged(world, same), same);
        merged += same != address;
    }
    assert_true(merged > 20);
    world_free(world);
}

static int compare_normalized(const void *left, const void *right)
{
    const struct post_link *a = left, *b = right;
    return bytes_compare(a->normalized, b->normalized);
}

/* Appends a line per link that the product finds in the post that event k wrote. */
static void put_found(const struct world *world, uint32_t k, struct json_doc *doc,
                      struct arena *arena, struct text *out)
{
    struct text record = {0};
    struct json root;
    struct post_links links;
    event_json_record(world, world_event(world, k)->latest, &record);
    assert_int_equal(json_parse_copy(doc, text_bytes(&record), &root, NULL), RC_OK);
    arena_reset(arena);
    assert_int_equal(post_links_read(root, arena, &links), RC_OK);
    assert_true(links.left_out == 0 && links.refused == 0);
    qsort(links.links, links.count, sizeof links.links[0], compare_normalized);
    for (size_t i = 0; i < links.count; i++) {
        text_append_string(out, "{\"uri\":\"");
        event_uri(world, k, out);
        text_append_string(out, "\",\"url\":");
        event_json_string(out, links.links[i].normalized);
        text_append_string(out, ",\"via\":\"post\"}\n");
    }
    text_free(&record);
}

static void put_own_lines(const struct text *truth, struct text *out)
{
    static const char own[] = ",\"via\":\"post\"}\n";
    for (const char *at = strchr(truth->data, '\n') + 1; *at != '\0';) {
        size_t len = (size_t)(strchr(at, '\n') + 1 - at);
        if (len >= sizeof own && memcmp(at + len - (sizeof own - 1), own, sizeof own - 1) == 0)
            text_append(out, at, len);
        at += len;
    }
}

static void the_product_finds_in_posts_what_was_put_there(void **state)
{
    struct world *world = make_world(false);
    struct truth_link_question question = {.depth = 1};
    struct text truth = {0}, told = {0}, found = {0};
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    struct arena arena;
    size_t count;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    world_grow(world, EVENTS);
    struct truth_row *rows = truth_rows(world, &question.scope, &count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].collection == COLLECTION_POST)
            put_found(world, rows[i].k, doc, &arena, &found);
    truth_post_links_write(world, &question, &truth);
    put_own_lines(&truth, &told);
    assert_true(found.len > 10000);
    assert_string_equal(text_string(&found), text_string(&told));
    free(rows);
    arena_deinit(&arena);
    json_doc_free(doc);
    text_free(&truth);
    text_free(&told);
    text_free(&found);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_means_its_page),
        cmocka_unit_test(a_paper_has_a_name_on_this_machine_and_a_headline_of_its_own),
        cmocka_unit_test(people_of_the_press_speak_plainly),
        cmocka_unit_test(the_product_finds_in_posts_what_was_put_there),
        cmocka_unit_test(pages_of_a_block_turn_out_to_be_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
