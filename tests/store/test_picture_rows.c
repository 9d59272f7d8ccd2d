/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of links and people: what is kept of them, how much of it, and what is found again; on
 * both stores. */
#include "news_bench.h"
#include "query/kept_picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DID   "did:plc:ann"
#define URL   "https://e.example/i.png"
#define PNG   "\x89PNG\r\n\x1a\n"
#define COST  4096 /* of a row beside its bytes */
#define ROOMY 100000000

static void add_links(struct bench *bench, int count)
{
    char sql[200];
    for (int i = 1; i <= count; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO links (id, normalized_url, original_url, image_url) "
                 "VALUES (%d, 'https://e.example/%d', 'https://e.example/%d', '%s')",
                 i, i, i, URL);
        run_script(bench, sql);
    }
}

/* `data` NULL: it could not be had. `link` 0: the portrait of DID. */
static void add_picture(struct bench *bench, int64_t link, int64_t at_us, const char *data,
                        int64_t keep_bytes)
{
    struct record *row = batch_add(&bench->batch, RECORD_PICTURE);
    struct text name = {0};
    char id[24];
    snprintf(id, sizeof id, "%d", (int)link);
    assert_true(picture_name_print(bytes_of(link == 0 ? DID : id), bytes_of(URL), &name));
    assert_true(batch_set_text(&bench->batch, row, PICTURE_NAME, text_bytes(&name)));
    text_free(&name);
    if (link != 0)
        batch_set_int(row, PICTURE_LINK, link);
    batch_set_int(row, PICTURE_AT_US, at_us);
    batch_set_int(row, PICTURE_KEEP_BYTES, keep_bytes);
    assert_true(batch_set_text(&bench->batch, row, data == NULL ? PICTURE_REASON : PICTURE_DATA,
                               bytes_of(data == NULL ? "it is gone" : data)));
}

static enum picture_state find(struct bench *bench, const char *owner, const char *url,
                               int64_t again_us, struct kept_picture *out)
{
    struct text words = {0};
    struct picture_name name;
    assert_true(picture_name_print(bytes_of(owner), bytes_of(url), &words));
    assert_true(picture_name_parse(text_bytes(&words), &name));
    text_free(&words);
    assert_ok(kept_picture_find(bench->store, &name, again_us, out, &bench->err));
    return out->state;
}

static void a_picture_is_found_by_its_link_and_where_it_lies(void **state)
{
    struct bench *bench = *state;
    struct kept_picture found = {0};
    add_links(bench, 2);
    assert_int_equal(find(bench, "1", URL, 0, &found), PICTURE_MISSING);
    assert_string_equal(text_string(&found.url), URL);
    add_picture(bench, 1, 10, PNG, ROOMY);
    assert_ok(write_batch(bench));
    assert_int_equal(find(bench, "1", URL, 0, &found), PICTURE_KEPT);
    assert_true(bytes_equal_string(text_bytes(&found.data), PNG));
    assert_int_equal(find(bench, "2", URL, 0, &found), PICTURE_MISSING);
    assert_int_equal(find(bench, "1", "https://other.example/", 0, &found), PICTURE_UNKNOWN);
    assert_int_equal(find(bench, "3", URL, 0, &found), PICTURE_UNKNOWN);
    kept_picture_deinit(&found);
}

static void a_portrait_is_found_by_its_person_and_where_it_lies(void **state)
{
    struct bench *bench = *state;
    struct kept_picture found = {0};
    run_script(bench, "INSERT INTO actors (id, did, avatar) VALUES (1, '" DID "', '" URL "')");
    assert_int_equal(find(bench, DID, URL, 0, &found), PICTURE_MISSING);
    assert_string_equal(text_string(&found.url), URL);
    add_picture(bench, 0, 10, PNG, ROOMY);
    assert_ok(write_batch(bench));
    assert_int_equal(find(bench, DID, URL, 0, &found), PICTURE_KEPT);
    assert_true(bytes_equal_string(text_bytes(&found.data), PNG));
    assert_int_equal(find(bench, "did:plc:bo", URL, 0, &found), PICTURE_UNKNOWN);
    /* Another one has another name, and what was kept of the first is not taken for it. */
    run_script(bench, "UPDATE actors SET avatar = 'https://e.example/new.png'");
    assert_int_equal(find(bench, DID, URL, 0, &found), PICTURE_UNKNOWN);
    assert_int_equal(find(bench, DID, "https://e.example/new.png", 0, &found), PICTURE_MISSING);
    run_script(bench, "UPDATE actors SET avatar = '" URL "', active = 0");
    assert_int_equal(find(bench, DID, URL, 0, &found), PICTURE_UNKNOWN);
    kept_picture_deinit(&found);
}

static void a_failure_holds_for_a_while_and_a_picture_outlives_it(void **state)
{
    struct bench *bench = *state;
    struct kept_picture found = {0};
    add_links(bench, 1);
    add_picture(bench, 1, 100, NULL, ROOMY);
    assert_ok(write_batch(bench));
    assert_int_equal(find(bench, "1", URL, 100, &found), PICTURE_FAILED);
    assert_string_equal(found.reason, "it is gone");
    assert_int_equal(find(bench, "1", URL, 101, &found), PICTURE_MISSING);
    add_picture(bench, 1, 200, PNG, ROOMY);
    assert_ok(write_batch(bench));
    assert_int_equal(find(bench, "1", URL, 0, &found), PICTURE_KEPT);
    add_picture(bench, 1, 300, NULL, ROOMY);
    assert_ok(write_batch(bench));
    assert_int_equal(find(bench, "1", URL, 0, &found), PICTURE_KEPT);
    kept_picture_deinit(&found);
}

static void over_the_bound_the_oldest_go(void **state)
{
    struct bench *bench = *state;
    const int64_t room = 3 * (COST + 8);
    add_links(bench, 5);
    for (int i = 1; i <= 3; i++)
        add_picture(bench, i, 10 * i, PNG, room);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM pictures"), 3);
    /* Rows without bytes, and portraits, are bounded by the same. */
    add_picture(bench, 0, 40, NULL, room);
    add_picture(bench, 5, 50, NULL, room);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM pictures"), 3);
    assert_int_equal(number(bench, "SELECT min(link_id) FROM pictures"), 3);
}

static void a_picture_goes_with_its_link_and_needs_one(void **state)
{
    struct bench *bench = *state;
    add_links(bench, 1);
    add_picture(bench, 1, 10, PNG, ROOMY);
    add_picture(bench, 9, 10, PNG, ROOMY);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT max(link_id) FROM pictures"), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM quarantine"), 0);
    add_picture(bench, 0, 10, PNG, ROOMY);
    assert_ok(write_batch(bench));
    run_script(bench, "DELETE FROM links");
    assert_int_equal(number(bench, "SELECT count(*) FROM pictures"), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM pictures WHERE link_id IS NULL"), 1);
}

static void only_names_are_names(void **state)
{
    static const char *const wrong[] = {"",
                                        "1",
                                        "-",
                                        "1-",
                                        "x-0123456789abcdef",
                                        "0-0123456789abcdef",
                                        "did:web:a/b-0123456789abcdef",
                                        "did:web:a%2fb-0123456789abcdef",
                                        "1-0123456789abcde",
                                        "1-0123456789abcdef0",
                                        "-0123456789abcdef",
                                        "99999999999999999999-0123456789abcdef",
                                        "https://e.example/i.png"};
    struct picture_name name;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(picture_name_parse(bytes_of(wrong[i]), &name));
    assert_true(picture_name_parse(bytes_of("17-0123456789abcdef"), &name));
    assert_int_equal(name.link, 17);
    assert_string_equal(name.key, "0123456789abcdef");
    /* Of one picture there is one name. */
    assert_true(picture_name_parse(bytes_of("017-0123456789abcdef"), &name));
    assert_string_equal(name.words, "17-0123456789abcdef");
    assert_true(picture_name_parse(bytes_of("did:web:a-b.example-0123456789abcdef"), &name));
    assert_int_equal(name.link, 0);
    assert_string_equal(name.owner, "did:web:a-b.example");
    assert_string_equal(name.words, "did:web:a-b.example-0123456789abcdef");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_picture_is_found_by_its_link_and_where_it_lies),
        ON_STORE(a_portrait_is_found_by_its_person_and_where_it_lies),
        ON_STORE(a_failure_holds_for_a_while_and_a_picture_outlives_it),
        ON_STORE(over_the_bound_the_oldest_go),
        ON_STORE(a_picture_goes_with_its_link_and_needs_one),
        ON_STORE(only_names_are_names),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
