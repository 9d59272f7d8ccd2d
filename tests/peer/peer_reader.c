/* SPDX-License-Identifier: Apache-2.0
 *
 * peer_reader - what our readers make of inputs, for comparison with readers that others wrote.
 *
 *   peer_reader json|url <INPUTS
 *
 * Each line of stdin is an input in hexadecimal digits; a url may have a second one behind a space,
 * a reference on its page. Each line of stdout answers one: "+" and what was read, printed anew, or
 * "-" and why it was refused. */
#include "base/json.h"
#include "decode/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 20)

static void from_hex(const char *digits, size_t len, struct text *out)
{
    text_clear(out);
    text_append_string(out, "");
    for (size_t i = 0; i + 1 < len; i += 2) {
        char pair[3] = {digits[i], digits[i + 1], '\0'};
        text_append_char(out, (char)strtoul(pair, NULL, 16));
    }
}

static enum rc read_json(struct bytes input, struct text *out, struct err *err)
{
    static struct json_doc *doc;
    struct json root;
    if (doc == NULL)
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    enum rc rc = json_parse_copy(doc, input, &root, err);
    if (rc == RC_OK)
        json_print(root, out);
    return rc;
}

static enum rc read_url(struct bytes input, const struct bytes *reference, struct text *out,
                        struct err *err)
{
    static struct url page, joined;
    enum rc rc = url_parse(input, &page, err);
    if (rc == RC_OK && reference != NULL)
        rc = url_join(&page, *reference, &joined, err);
    if (rc == RC_OK)
        url_print(reference == NULL ? &page : &joined, true, out);
    return rc;
}

int main(int argc, char **argv)
{
    struct text input = {0}, second = {0}, out = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    if (argc != 2 || (strcmp(argv[1], "json") != 0 && strcmp(argv[1], "url") != 0)) {
        fprintf(stderr, "usage: peer_reader json|url <INPUTS\n");
        return 2;
    }
    while ((len = getline(&line, &room, stdin)) > 0) {
        const char *blank = memchr(line, ' ', (size_t)len);
        size_t first = blank == NULL ? strcspn(line, "\n") : (size_t)(blank - line);
        struct err err = {""};
        from_hex(line, first, &input);
        text_clear(&out);
        if (blank != NULL)
            from_hex(blank + 1, strcspn(blank + 1, "\n"), &second);
        struct bytes reference = text_bytes(&second);
        enum rc rc =
            strcmp(argv[1], "json") == 0
                ? read_json(text_bytes(&input), &out, &err)
                : read_url(text_bytes(&input), blank == NULL ? NULL : &reference, &out, &err);
        printf("%s%s\n", rc == RC_OK ? "+" : "-", rc == RC_OK ? text_string(&out) : err.text);
    }
    free(line);
    text_free(&input);
    text_free(&second);
    text_free(&out);
    return EXIT_SUCCESS;
}
