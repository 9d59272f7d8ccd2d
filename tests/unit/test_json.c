/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/json.h"
#include "base/json_write.h"
#include "test_seed.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BYTES_MAX ((size_t)1 << 20)

static int make_doc(void **state)
{
    *state = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    return 0;
}

static int free_doc(void **state)
{
    json_doc_free(*state);
    return 0;
}

static struct json parse(struct json_doc *doc, const char *input)
{
    struct json root;
    struct err err = {""};
    if (json_parse_copy(doc, bytes_of(input), &root, &err) != RC_OK)
        fail_msg("%s: %s", input, err.text);
    return root;
}

static void assert_rejected(struct json_doc *doc, struct bytes input, const char *sentence)
{
    struct json root = {"not touched", 7};
    struct err err = {""};
    if (json_parse_copy(doc, input, &root, &err) != RC_REJECT)
        fail_msg("accepted: %.*s", (int)input.len, input.data);
    assert_int_equal(json_type(root), JSON_ABSENT);
    if (strstr(err.text, sentence) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
}

static void assert_prints(struct json value, const char *expected)
{
    struct text text = {0};
    json_print(value, &text);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void members_are_found_by_name_and_the_first_of_a_name_wins(void **state)
{
    struct json root = parse(*state, "{\"a\":1,\"ab\":{\"c\":\"x\"},\"a\":2,\"\":true,\"n\":null}");
    int64_t i;
    bool b;
    assert_int_equal(json_type(root), JSON_OBJECT);
    assert_true(json_i64(json_get(root, "a"), &i));
    assert_int_equal(i, 1);
    assert_true(
        bytes_equal_string(json_string_or_absent(json_get(json_get(root, "ab"), "c")), "x"));
    assert_true(json_bool(json_get(root, ""), &b) && b);
    assert_int_equal(json_type(json_get(root, "n")), JSON_NULL);
    assert_int_equal(json_count(root), 5);
    assert_prints(root, "{\"a\":1,\"ab\":{\"c\":\"x\"},\"a\":2,\"\":true,\"n\":null}");
}

static void a_name_that_differs_in_one_letter_is_another_name(void **state)
{
    char input[64], name[40];
    for (size_t len = 0; len < sizeof name - 1; len++) {
        memset(name, 'n', len);
        name[len] = '\0';
        snprintf(input, sizeof input, "{\"%s\":1}", name);
        struct json root = parse(*state, input);
        assert_int_equal(json_type(json_get(root, name)), JSON_INT);
        assert_int_equal(json_type(json_get_bytes(root, bytes_make(name, len + 1))), JSON_ABSENT);
        for (size_t i = 0; i < len; i++) {
            name[i] = 'm';
            assert_int_equal(json_type(json_get(root, name)), JSON_ABSENT);
            name[i] = 'n';
        }
    }
}

static void what_is_not_there_is_absent_all_the_way_down(void **state)
{
    struct json root = parse(*state, "{\"a\":[1,2]}");
    struct json nothing = json_get(json_get(json_get(root, "b"), "c"), "d");
    struct json value;
    struct bytes key;
    int64_t i = 7;
    uint64_t u;
    double d;
    bool b;
    assert_int_equal(json_type(nothing), JSON_ABSENT);
    assert_int_equal(json_type(json_get(json_get(root, "a"), "x")), JSON_ABSENT);
    assert_int_equal(json_type(json_at(json_get(root, "a"), 2)), JSON_ABSENT);
    assert_int_equal(json_type(json_at(root, 0)), JSON_ABSENT);
    assert_int_equal(json_type(json_pointer(nothing, "/x")), JSON_ABSENT);
    assert_false(json_i64(nothing, &i) || json_u64(nothing, &u) || json_real(nothing, &d));
    assert_false(json_bool(nothing, &b) || json_string(nothing, &key));
    assert_int_equal(i, 7);
    assert_null(json_string_or_absent(json_get(root, "a")).data);
    assert_int_equal(json_count(nothing), 0);
    struct json_walk walk = json_walk(nothing);
    assert_false(json_walk_next(&walk, &key, &value));
    walk = json_walk(json_at(json_get(root, "a"), 0));
    assert_false(json_walk_next(&walk, &key, &value));
    assert_prints(nothing, "");
}

static void an_integer_is_exact_or_the_document_is_refused(void **state)
{
    struct json root = parse(*state, "[9223372036854775807,-9223372036854775808,"
                                     "9223372036854775808,18446744073709551615,1.5,-1,1e2]");
    int64_t i;
    uint64_t u;
    double d;
    assert_true(json_i64(json_at(root, 0), &i) && i == INT64_MAX);
    assert_true(json_u64(json_at(root, 0), &u) && u == INT64_MAX);
    assert_true(json_i64(json_at(root, 1), &i) && i == INT64_MIN);
    assert_int_equal(json_type(json_at(root, 1)), JSON_INT);
    assert_int_equal(json_type(json_at(root, 2)), JSON_UINT);
    assert_false(json_i64(json_at(root, 2), &i));
    assert_true(json_u64(json_at(root, 3), &u) && u == UINT64_MAX);
    assert_int_equal(json_type(json_at(root, 4)), JSON_REAL);
    assert_false(json_i64(json_at(root, 4), &i) || json_u64(json_at(root, 4), &u));
    assert_true(json_real(json_at(root, 4), &d) && d > 1.4 && d < 1.6);
    assert_true(json_real(json_at(root, 5), &d) && d < -0.9 && d > -1.1);
    assert_false(json_u64(json_at(root, 5), &u));
    assert_int_equal(json_type(json_at(root, 6)), JSON_REAL);
    assert_rejected(*state, bytes_of("[18446744073709551616]"), "");
    assert_rejected(*state, bytes_of("[-9223372036854775809]"), "");
    assert_rejected(*state, bytes_of("{\"wei\":1000000000000000000000000}"), "");
    assert_rejected(*state, bytes_of("[1e400]"), "number");
}

static void bad_documents_are_refused_with_a_sentence(void **state)
{
    static const char *const bad[] = {
        "",        " ",          "{",           "[1,]",     "{\"a\"}",   "{\"a\":1,}",
        "{a:1}",   "[1] x",      "{} {}",       "[01]",     "[+1]",      "[.5]",
        "[1.]",    "[1e]",       "[-]",         "[nul]",    "[\"\\x\"]", "[\"\\u12g4\"]",
        "[\"a",    "[\"a\nb\"]", "['a']",       "[NaN]",    "[\"\\\"]",  "[1 2]",
        "\"a\" 1", "]",          "[truefalse]", "[,1]",     "\\u0000",   "[\"\\ud8\"]",
        "/**/1",   "[\xff]",     "[1]]",        "{\"a\":}", "[\"\\u\"]", "nulll",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_rejected(*state, bytes_of(bad[i]), "JSON: ");
    assert_rejected(*state, BYTES_ABSENT, "empty");
    assert_rejected(*state, bytes_of("[\"\xed\xa0\x80\"]"), "UTF-8");
    assert_rejected(*state, bytes_of("[\"\xc0\x80\"]"), "UTF-8");
    assert_rejected(*state, bytes_make("[1]\0", 4), "JSON: ");
    assert_rejected(*state, bytes_make("[\"\0\"]", 5), "JSON: ");
    /* A refusal leaves the document usable. */
    assert_prints(parse(*state, " [ 1 , {} ] "), "[1,{}]");
}

static struct bytes nested(struct text *text, size_t depth, const char *innermost)
{
    text_clear(text);
    for (size_t i = 0; i < depth; i++)
        text_append_string(text, i % 2 == 0 ? "[" : "{\"a\":");
    text_append_string(text, innermost);
    for (size_t i = depth; i > 0; i--)
        text_append_char(text, (i - 1) % 2 == 0 ? ']' : '}');
    return text_bytes(text);
}

static void a_document_has_a_greatest_depth(void **state)
{
    struct text text = {0}, printed = {0};
    struct json root;
    nested(&text, JSON_DEPTH_MAX - 1, "[]");
    root = parse(*state, text_string(&text));
    json_print(root, &printed);
    assert_string_equal(text_string(&printed), text_string(&text));
    nested(&text, JSON_DEPTH_MAX - 1, "1");
    parse(*state, text_string(&text));
    assert_rejected(*state, nested(&text, JSON_DEPTH_MAX, "{}"), "64 levels");
    assert_rejected(*state, nested(&text, JSON_DEPTH_MAX, "1"), "64 levels");
    assert_rejected(*state, nested(&text, 100000, "1"), "64 levels");
    struct json_doc *answer = json_doc_new(BYTES_MAX, JSON_ANSWER_DEPTH_MAX);
    nested(&text, JSON_ANSWER_DEPTH_MAX - 1, "{}");
    text_clear(&printed);
    json_print(parse(answer, text_string(&text)), &printed);
    assert_string_equal(text_string(&printed), text_string(&text));
    assert_rejected(answer, nested(&text, JSON_ANSWER_DEPTH_MAX, "1"), "72 levels");
    json_doc_free(answer);
    struct json_doc *shallow = json_doc_new(BYTES_MAX, 2);
    parse(shallow, "[[],1,{}]");
    assert_rejected(shallow, bytes_of("[[1]]"), "2 levels");
    json_doc_free(shallow);
    text_free(&text);
    text_free(&printed);
}

static void a_document_has_a_greatest_size(void **state)
{
    (void)state;
    struct json_doc *doc = json_doc_new(10, 8);
    parse(doc, "[12345678]");
    assert_rejected(doc, bytes_of("[123456789]"), "at most 10");
    json_doc_free(doc);
    /* Larger than what a document starts with. */
    struct text text = {0};
    text_append_char(&text, '"');
    for (int i = 0; i < 300000; i++)
        text_append_string(&text, "é");
    text_append_char(&text, '"');
    doc = json_doc_new(BYTES_MAX, 8);
    struct bytes string;
    assert_true(json_string(parse(doc, text_string(&text)), &string));
    assert_int_equal(string.len, 600000);
    json_doc_free(doc);
    text_free(&text);
}

static void assert_reads(struct json_doc *doc, const char *input, const char *expected)
{
    struct bytes string = {0};
    assert_true(json_string(parse(doc, input), &string));
    assert_true(bytes_equal_string(string, expected));
    /* The same through the way that copies only when it must. */
    char padded[256] = {0};
    struct json root;
    assert_true(strlen(input) + ARENA_PAD < sizeof padded);
    memcpy(padded, input, strlen(input));
    assert_int_equal(json_parse(doc, bytes_make(padded, strlen(input)), &root, NULL), RC_OK);
    assert_memory_equal(padded, input, strlen(input));
    assert_true(json_string(root, &string));
    assert_true(bytes_equal_string(string, expected));
}

#define R "\xef\xbf\xbd"

static void escapes_that_no_store_takes_become_replacement_characters(void **state)
{
    assert_reads(*state, "\"a\\u0000b\"", "a" R "b");
    assert_reads(*state, "\"\\\\u0000\"", "\\u0000");
    assert_reads(*state, "\"\\\\\\u0000\"", "\\" R);
    assert_reads(*state, "\"\\u00e9\\u0001\"", "é\x01");
    assert_reads(*state, "\"\\ud83d\\ude00\"", "😀");
    assert_reads(*state, "\"\\uD83D\\uDE00\"", "😀");
    assert_reads(*state, "\"\\ud83d\"", R);
    assert_reads(*state, "\"\\ude00x\"", R "x");
    assert_reads(*state, "\"\\ude00\\ud83d\"", R R);
    assert_reads(*state, "\"\\ud83d\\ud83d\\ude00\"", R "😀");
    assert_reads(*state, "\"\\ud83d\\u0041\"", R "A");
    assert_reads(*state, "\"\\ud83d\\n\\ude00\"", R "\n" R);
    assert_reads(*state, "\"\\ud83d\\\\ude00\"", R "\\ude00");
    assert_reads(*state, "\"\\uDBFF\\uDFFF\\uDbFf\"", "\xf4\x8f\xbf\xbf" R);
    assert_reads(*state, "\"\\ud83dx\\u0000\\u0000\"", R "x" R R);
    assert_reads(*state, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    /* Names are strings, too. */
    struct json root = parse(*state, "{\"a\\u0000\":1}");
    assert_int_equal(json_type(json_get(root, "a" R)), JSON_INT);
}

static void a_byte_order_mark_is_skipped(void **state)
{
    assert_prints(parse(*state, "\xef\xbb\xbf[1]"), "[1]");
    assert_rejected(*state, bytes_of("\xef\xbb\xbf"), "empty");
    assert_rejected(*state, bytes_of("\xef\xbb\xbf\xef\xbb\xbf[1]"), "JSON: ");
    assert_rejected(*state, bytes_of("\xef\xbb"), "JSON: ");
}

static void assert_points(struct json root, const char *pointer, int64_t expected)
{
    int64_t found;
    if (!json_i64(json_pointer(root, pointer), &found) || found != expected)
        fail_msg("%s does not point at %lld", pointer, (long long)expected);
}

static void a_pointer_leads_to_its_value(void **state)
{
    struct json root = parse(*state, "{\"result\":[{\"hash\":1},[10,20]],\"a/b\":2,\"m~n\":3,"
                                     "\"\":4,\"0\":5,\"~1\":6,\"x\":{\"\":7},\"m~nn\":8}");
    assert_points(root, "/result/0/hash", 1);
    assert_points(root, "/result/1/1", 20);
    assert_points(root, "/a~1b", 2);
    assert_points(root, "/m~0n", 3);
    assert_points(root, "/m~0nn", 8);
    assert_points(root, "/", 4);
    assert_points(root, "/0", 5);
    assert_points(root, "/~01", 6);
    assert_points(root, "/x/", 7);
    assert_int_equal(json_type(json_pointer(root, "")), JSON_OBJECT);
    static const char *const nowhere[] = {
        "result",
        "/result/2",
        "/result/-",
        "/result/01",
        "/result/0/",
        "/result/",
        "/nope",
        "/m~n",
        "/m~",
        "/m~2n",
        "/m~0",
        "/result/1/1/0",
        "/result/18446744073709551616",
        "/result/+1",
    };
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++)
        if (json_type(json_pointer(root, nowhere[i])) != JSON_ABSENT)
            fail_msg("%s leads somewhere", nowhere[i]);
}

static void a_walk_meets_every_child_in_order(void **state)
{
    struct json root = parse(*state, "{\"b\":[1,[2,3],\"x\"],\"a\":{}}");
    struct json_walk walk = json_walk(root);
    struct bytes key;
    struct json value;
    assert_true(json_walk_next(&walk, &key, &value));
    assert_true(bytes_equal_string(key, "b"));
    assert_int_equal(json_count(value), 3);
    struct json_walk inner = json_walk(value);
    assert_true(json_walk_next(&inner, &key, &value));
    assert_null(key.data);
    assert_int_equal(json_type(value), JSON_INT);
    assert_true(json_walk_next(&inner, &key, &value));
    assert_int_equal(json_count(value), 2);
    assert_true(json_walk_next(&inner, &key, &value));
    assert_int_equal(json_type(value), JSON_STRING);
    assert_false(json_walk_next(&inner, &key, &value));
    assert_true(json_walk_next(&walk, &key, &value));
    assert_true(bytes_equal_string(key, "a"));
    assert_int_equal(json_count(value), 0);
    assert_false(json_walk_next(&walk, &key, &value));
    assert_false(json_walk_next(&walk, &key, &value));
}

/* Writes a random document and keeps nothing: the writer's text is what is expected. */
static void write_random(struct json_writer *writer, struct seeded *random, unsigned depth)
{
    size_t kind = seeded_below(random, depth < 6 ? 9 : 6);
    uint64_t bits = seeded_next(random);
    char string[24];
    double real;
    size_t len = seeded_below(random, sizeof string);
    switch (kind) {
    case 0:
        json_put_null(writer);
        return;
    case 1:
        json_put_bool(writer, (bits & 1) != 0);
        return;
    case 2:
        json_put_i64(writer, (int64_t)bits >> (bits & 63));
        return;
    case 3:
        json_put_u64(writer, bits >> (bits & 63));
        return;
    case 4:
        memcpy(&real, &bits, sizeof real);
        json_put_real(writer, isfinite(real) ? real : 0.1);
        return;
    case 5:
        for (size_t i = 0; i < len; i++)
            string[i] = (char)seeded_next(random);
        json_put_string(writer, bytes_make(string, len));
        return;
    default:
        break;
    }
    kind == 6 ? json_begin_array(writer) : json_begin_object(writer);
    for (size_t i = 0; i < len / 4; i++) {
        if (kind != 6) {
            snprintf(string, sizeof string, "k%u\x07\"", (unsigned)seeded_below(random, 4));
            json_key(writer, string);
        }
        write_random(writer, random, depth + 1);
    }
    kind == 6 ? json_end_array(writer) : json_end_object(writer);
}

static void whatever_was_written_reads_and_prints_the_same(void **state)
{
    struct seeded random = seeded_start(__func__);
    struct text written = {0}, printed = {0};
    for (int i = 0; i < 20000; i++) {
        struct json_writer writer;
        text_clear(&written);
        text_clear(&printed);
        json_writer_init(&writer, &written);
        write_random(&writer, &random, 0);
        json_print(parse(*state, text_string(&written)), &printed);
        assert_string_equal(text_string(&printed), text_string(&written));
    }
    text_free(&written);
    text_free(&printed);
}

/* Which code unit of a string of escapes survives, decided by looking at both neighbours. */
static void random_escapes_come_out_as_a_simple_model_says(void **state)
{
    static const uint32_t units[] = {0, 0x41, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xd83d};
    struct seeded random = seeded_start(__func__);
    struct text input = {0};
    for (int round = 0; round < 20000; round++) {
        uint32_t unit[12] = {0};
        size_t count = 1 + seeded_below(&random, 10), out = 0;
        text_clear(&input);
        text_append_char(&input, '"');
        for (size_t i = 1; i <= count; i++) {
            unit[i] = units[seeded_below(&random, 8)];
            text_appendf(&input, i % 2 == 0 ? "\\u%04x" : "\\u%04X", unit[i]);
        }
        text_append_char(&input, '"');
        struct bytes got = json_string_or_absent(parse(*state, text_string(&input)));
        for (size_t i = 1; i <= count; i++) {
            bool high = unit[i] >= 0xd800 && unit[i] < 0xdc00;
            bool low = unit[i] >= 0xdc00 && unit[i] < 0xe000;
            size_t len = 3;
            if (high && unit[i + 1] >= 0xdc00 && unit[i + 1] < 0xe000) {
                assert_int_equal((unsigned char)got.data[out] & 0xf8, 0xf0);
                len = 4;
                i++;
            } else if (high || low || unit[i] == 0) {
                assert_memory_equal(got.data + out, R, 3);
            } else if (unit[i] == 0x41) {
                assert_int_equal(got.data[out], 'A');
                len = 1;
            } else {
                assert_memory_equal(got.data + out, "\xee\x80\x80", 3);
            }
            out += len;
        }
        assert_int_equal(out, got.len);
    }
    text_free(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_by_name_and_the_first_of_a_name_wins),
        cmocka_unit_test(a_name_that_differs_in_one_letter_is_another_name),
        cmocka_unit_test(what_is_not_there_is_absent_all_the_way_down),
        cmocka_unit_test(an_integer_is_exact_or_the_document_is_refused),
        cmocka_unit_test(bad_documents_are_refused_with_a_sentence),
        cmocka_unit_test(a_document_has_a_greatest_depth),
        cmocka_unit_test(a_document_has_a_greatest_size),
        cmocka_unit_test(escapes_that_no_store_takes_become_replacement_characters),
        cmocka_unit_test(a_byte_order_mark_is_skipped),
        cmocka_unit_test(a_pointer_leads_to_its_value),
        cmocka_unit_test(a_walk_meets_every_child_in_order),
        cmocka_unit_test(whatever_was_written_reads_and_prints_the_same),
        cmocka_unit_test(random_escapes_come_out_as_a_simple_model_says),
    };
    return cmocka_run_group_tests(tests, make_doc, free_doc);
}
