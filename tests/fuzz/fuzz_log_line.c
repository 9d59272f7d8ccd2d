/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as what a stranger has put into a line of the log: it stays one line, within its bound,
 * without a character that a terminal obeys; as JSON it reads back, and a value that had room says
 * what was said. The first byte chooses whether it is told with a tag. */
#include "base/json.h"
#include "base/utf8.h"
#include "sys/log_line.h"

#include <assert.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)1 << 16)
#define ROOM           1000 /* so much always has room */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct bytes line)
{
    assert(line.len > 0 && line.data[line.len - 1] == '\n');
    for (size_t i = 0; i + 1 < line.len; i++) {
        unsigned char c = (unsigned char)line.data[i];
        assert(c >= ' ' && c != 0x7f);
        /* Controls of eight bits, in UTF-8. */
        assert(c != 0xc2 || (unsigned char)line.data[i + 1] >= 0xa0);
    }
    struct text clean = {0};
    utf8_append(&clean, line);
    assert(bytes_equal(line, text_bytes(&clean)));
    text_free(&clean);
}

static void check_json(struct bytes line, struct bytes value)
{
    static struct json_doc *doc;
    struct json root;
    struct text expected = {0};
    if (doc == NULL)
        doc = json_doc_new(LINE_MAX_BYTES, JSON_DEPTH_MAX);
    enum rc rc = json_parse_copy(doc, line, &root, NULL);
    assert(rc == RC_OK && json_count(root) == 5);
    struct bytes said = json_string_or_absent(json_pointer(root, "/metadata/value"));
    bool cut = json_type(json_pointer(root, "/metadata/truncated")) != JSON_ABSENT;
    utf8_append(&expected, value);
    assert(cut ? value.len > ROOM / 6 : said.data != NULL);
    if (!cut && memchr(value.data, '\0', value.len) == NULL)
        assert(bytes_equal(said, text_bytes(&expected)));
    text_free(&expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text out;
    if (size == 0)
        return -1;
    struct bytes value = bytes_make(data + 1, size - 1);
    const struct log_field fields[] = {log_text("value", value), log_int("count", 7), LOG_END};
    struct log_line line = {.level = LOG_INFO,
                            .wall_us = 1,
                            .component = "fuzz",
                            .event_type = "heard",
                            .tag = (data[0] & 1) != 0 ? "POLL" : NULL,
                            .words = value,
                            .fields = fields,
                            .suppressed = data[0] >> 1};
    log_line_format(&line, LOG_FORMAT_TEXT, &out);
    check_line(text_bytes(&out));
    line.tag = NULL;
    log_line_format(&line, LOG_FORMAT_JSON, &out);
    check_line(text_bytes(&out));
    check_json(text_bytes(&out), value);
    return 0;
}
