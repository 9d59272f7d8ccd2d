/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens file, line by line. */
#include "config_tokens.h"
#include "fixture.h"

#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* SHA-256 of "one" and of "two". */
#define ONE "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
#define TWO "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"

static struct tokens *parse(const char *content)
{
    struct tokens *tokens = NULL;
    struct err err = {0};
    if (tokens_parse("t", bytes_of(content), &tokens, &err) != RC_OK)
        fail_msg("%s", err.text);
    return tokens;
}

static void a_token_has_the_scopes_of_its_line(void **state)
{
    (void)state;
    struct tokens *tokens = parse("# who may ask\n\n"
                                  "alice read,write " ONE "\r\n"
                                  " \tbob.b-o_b@home\tadmin   " TWO " \n   # no more\n");
    assert_int_equal(tokens->count, 2);
    const struct token *alice = tokens_find(tokens, bytes_of("one"));
    assert_string_equal(alice->name, "alice");
    assert_int_equal(alice->scopes, SCOPE_READ | SCOPE_WRITE);
    assert_int_equal(tokens_find(tokens, bytes_of("two"))->scopes, SCOPE_ADMIN);
    assert_null(tokens_find(tokens, bytes_of("three")));
    assert_null(tokens_find(tokens, bytes_of("")));
    assert_null(tokens_find(tokens, bytes_of(ONE))); /* the hash opens nothing */
    free(tokens);
    tokens = parse("");
    assert_null(tokens_find(tokens, bytes_of("one")));
    free(tokens);
}

static void a_bad_line_is_named_and_the_file_not_taken(void **state)
{
    static const struct {
        const char *content, *says;
    } cases[] = {
        {"alice read\n", "t:1: a line is `name"},
        {"\n\nalice read " ONE " more\n", "t:3: a line is `name"},
        {"al:ice read " ONE, "t:1: the name must"},
        {"a23456789a23456789a23456789a23456789a23456789a23456789a23456789a2345 read " ONE,
         "t:1: the name must"},
        {"alice all " ONE, "t:1: the scopes must"},
        {"alice read,read " ONE, "t:1: the scopes must"},
        {"alice read, " ONE, "t:1: the scopes must"},
        {"alice ,read " ONE, "t:1: the scopes must"},
        {"alice READ " ONE, "t:1: the scopes must"},
        {"alice anyone " ONE, "t:1: the scopes must"},
        {"alice read one", "t:1: the hash must"},
        {"alice read " ONE "0", "t:1: the hash must"},
        {"alice read g692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
         "t:1: the hash must"},
        {"a read " ONE "\na write " TWO, "t:2: an earlier line has the same name"},
        {"a read " ONE "\nb write " ONE, "t:2: an earlier line has the same hash"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokens *tokens = NULL;
        struct err err = {0};
        assert_int_equal(tokens_parse("t", bytes_of(cases[i].content), &tokens, &err), RC_REJECT);
        if (strstr(err.text, cases[i].says) != err.text)
            fail_msg("%s: %s", cases[i].content, err.text);
        assert_null(tokens);
    }
}

static void tokens_are_bounded(void **state)
{
    struct text content = {0};
    struct tokens *tokens;
    struct err err;
    (void)state;
    for (int i = 0; i <= TOKENS_MAX; i++)
        text_appendf(&content, "n%d read %064x\n", i, i);
    assert_int_equal(tokens_parse("t", text_bytes(&content), &tokens, &err), RC_REJECT);
    assert_string_equal(err.text, "t:1025: there are too many tokens: 1024 are the most");
    text_free(&content);
}

static void a_file_that_others_can_open_is_not_read(void **state)
{
    static const struct {
        unsigned mode;
        bool good;
    } cases[] = {{0600, true},  {0640, true},  {0400, true}, {0660, false},
                 {0644, false}, {0602, false}, {0601, false}};
    struct fixture fixture;
    char path[320];
    (void)state;
    fixture_open(&fixture, FIXTURE_SQLITE);
    snprintf(path, sizeof path, "%s/tokens", fixture.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("alice read " ONE "\n", file);
    fclose(file);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokens *tokens = NULL;
        struct err err;
        assert_int_equal(chmod(path, cases[i].mode), 0);
        assert_int_equal(tokens_read(path, &tokens, &err), cases[i].good ? RC_OK : RC_REJECT);
        if (!cases[i].good)
            assert_non_null(strstr(err.text, "chmod 600"));
        free(tokens);
    }
    remove(path);
    struct tokens *none;
    struct err err;
    assert_int_equal(tokens_read(path, &none, &err), RC_REJECT);
    assert_non_null(strstr(err.text, path));
    fixture_close(&fixture);
}

static void a_line_that_is_printed_lets_its_token_in(void **state)
{
    struct text line = {0};
    (void)state;
    token_print_line(bytes_of("carol"), SCOPE_READ | SCOPE_ADMIN, bytes_of("one"), &line);
    assert_string_equal(text_string(&line), "carol read,admin " ONE "\n");
    struct tokens *tokens = parse(text_string(&line));
    assert_int_equal(tokens_find(tokens, bytes_of("one"))->scopes, SCOPE_READ | SCOPE_ADMIN);
    free(tokens);
    text_free(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_has_the_scopes_of_its_line),
        cmocka_unit_test(a_bad_line_is_named_and_the_file_not_taken),
        cmocka_unit_test(tokens_are_bounded),
        cmocka_unit_test(a_file_that_others_can_open_is_not_read),
        cmocka_unit_test(a_line_that_is_printed_lets_its_token_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
