/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every row as JSON or "!line N: why", one per line. */
static void read_all(const char *file, size_t len, struct text *out)
{
    struct csv csv;
    struct err err;
    struct text row = {0};
    struct bytes raw;
    enum rc rc;
    text_clear(out);
    if (csv_open(&csv, bytes_make(file, len), &err) != RC_OK) {
        text_appendf(out, "!%s\n", err.text);
        csv_close(&csv);
        return;
    }
    while ((rc = csv_next(&csv, &row, &raw, &err)) != RC_AGAIN) {
        text_appendf(out, "%s%s\n", rc == RC_OK ? "" : "!", rc == RC_OK ? row.data : err.text);
        assert_true(raw.len > 0);
        text_clear(&row);
    }
    text_free(&row);
    csv_close(&csv);
}

static void files_are_read_as_they_are_written(void **state)
{
    static const struct {
        const char *file, *rows;
    } files[] = {
        {"a,b\n1,2\n", "{\"a\":\"1\",\"b\":\"2\"}\n"},
        {"\xef\xbb\xbf"
         "a,b\r\n1,2\r\n\r\n3,4",
         "{\"a\":\"1\",\"b\":\"2\"}\n{\"a\":\"3\",\"b\":\"4\"}\n"},
        {"\"a\",\"b c\"\n\"x, y\",\"say \"\"hi\"\"\"\n",
         "{\"a\":\"x, y\",\"b c\":\"say \\\"hi\\\"\"}\n"},
        {"a,b\n\"two\nlines\",\n", "{\"a\":\"two\\nlines\",\"b\":\"\"}\n"},
        {"a,b\n1\n1,2,3\n4,5\n",
         "!line 2: 1 cells where the header has 2\n!line 3: 3 cells where the header has 2\n"
         "{\"a\":\"4\",\"b\":\"5\"}\n"},
        {"a,b\n\"x\"y,2\n3,4\n",
         "!line 2: text behind a closing quote\n{\"a\":\"3\",\"b\":\"4\"}\n"},
        {"a,b\nx\"y,2\n3,4\n",
         "!line 2: a quote in a cell that does not begin with one\n{\"a\":\"3\",\"b\":\"4\"}\n"},
        {"a,b\n\"open,2\n3,4\n",
         "!line 2: a quote that is never closed\n{\"a\":\"3\",\"b\":\"4\"}\n"},
        {"a,b\n\"1\n2\",3,4\n\"x\"z,1\n",
         "!line 2: 3 cells where the header has 2\n!line 4: text behind a closing quote\n"},
        {"a,b\n1\r2,3\n", "!line 2: a carriage return inside a line\n"},
        {"a,b", ""},
        {"a,a\n", "!line 1: the column \"a\" is there twice\n"},
        {"a,\n", "!line 1: a column without a name\n"},
        {"", "!line 1: a header was expected\n"},
        {"\n1\n", "!line 1: a header was expected\n"},
    };
    struct text out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        read_all(files[i].file, strlen(files[i].file), &out);
        assert_string_equal(text_string(&out), files[i].rows);
    }
    text_free(&out);
}

static void limits_hold(void **state)
{
    struct text file = {0}, out = {0};
    (void)state;
    for (unsigned i = 0; i <= CSV_COLUMNS_MAX; i++)
        text_appendf(&file, "%sc%u", i == 0 ? "" : ",", i);
    read_all(file.data, file.len, &out);
    assert_string_equal(text_string(&out), "!line 1: too many columns\n");
    text_clear(&file);
    text_append_string(&file, "a\n");
    for (unsigned i = 0; i <= CSV_CELL_BYTES_MAX; i++)
        text_append_char(&file, 'x');
    text_append_string(&file, "\nshort\n");
    read_all(file.data, file.len, &out);
    assert_string_equal(text_string(&out), "!line 2: a cell that is too long\n{\"a\":\"short\"}\n");
    text_free(&file);
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_as_they_are_written),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
