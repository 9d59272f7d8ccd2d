/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"

#include "base/utf8.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any double reads back equal from this many digits. */
#define REAL_DIGITS_MAX 17
/* A real that is below this many integer digits is written without an exponent. */
#define REAL_INTEGER_DIGITS_MAX 17
#define REAL_ZEROS_MAX          5

void json_writer_init(struct json_writer *writer, struct text *out)
{
    *writer = (struct json_writer){.out = out, .first = true};
}

static bool in_object(const struct json_writer *writer)
{
    return writer->depth > 0 && writer->objects[writer->depth - 1];
}

static void separate(struct json_writer *writer)
{
    if (!writer->first)
        text_append_char(writer->out, ',');
    writer->first = false;
}

static void start_value(struct json_writer *writer)
{
    assert(writer->depth > 0 || writer->first);
    assert(in_object(writer) == writer->key_pending);
    if (!writer->key_pending)
        separate(writer);
    writer->key_pending = false;
}

static void begin_container(struct json_writer *writer, bool object)
{
    start_value(writer);
    assert(writer->depth < JSON_WRITE_DEPTH_MAX);
    writer->objects[writer->depth++] = object;
    writer->first = true;
    text_append_char(writer->out, object ? '{' : '[');
}

static void end_container(struct json_writer *writer, bool object)
{
    assert(writer->depth > 0 && !writer->key_pending);
    assert(in_object(writer) == object);
    writer->depth--;
    writer->first = false;
    text_append_char(writer->out, object ? '}' : ']');
}

void json_begin_object(struct json_writer *writer)
{
    begin_container(writer, true);
}

void json_end_object(struct json_writer *writer)
{
    end_container(writer, true);
}

void json_begin_array(struct json_writer *writer)
{
    begin_container(writer, false);
}

void json_end_array(struct json_writer *writer)
{
    end_container(writer, false);
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The high bit of every byte that is zero; of higher ones perhaps, too. */
static uint64_t zero_bytes(uint64_t word)
{
    return (word - EACH_BYTE(1)) & ~word & EACH_BYTE(0x80);
}

/* How many bytes from here on stand for themselves; eight at a time while that is cheap to see. */
static size_t plain_run(const unsigned char *at, size_t left)
{
    size_t run = 0;
    for (uint64_t word; left - run >= sizeof word; run += sizeof word) {
        memcpy(&word, at + run, sizeof word);
        uint64_t below_space = (word - EACH_BYTE(0x20)) & ~word;
        uint64_t special = zero_bytes(word ^ EACH_BYTE('"')) | zero_bytes(word ^ EACH_BYTE('\\'));
        if (((word | below_space | special) & EACH_BYTE(0x80)) != 0)
            break;
    }
    while (run < left && is_plain(at[run]))
        run++;
    return run;
}

static void write_plain(struct text *out, struct bytes string)
{
    char *to = text_reserve(out, string.len + 2);
    to[0] = '"';
    if (string.len > 0)
        memcpy(to + 1, string.data, string.len);
    to[string.len + 1] = '"';
    to[string.len + 2] = '\0';
    out->len += string.len + 2;
}

static void write_special(struct text *out, unsigned char c)
{
    static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                   ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    if (c == '\0')
        text_append_string(out, UTF8_REPLACEMENT);
    else if (letters[c] != '\0')
        text_append(out, (char[]){'\\', letters[c]}, 2);
    else
        text_appendf(out, "\\u%04x", c);
}

static void write_string(struct text *out, struct bytes string)
{
    const unsigned char *at = (const unsigned char *)string.data;
    size_t left = string.len, run = plain_run(at, left), bad;
    if (run == left) {
        write_plain(out, string);
        return;
    }
    text_append_char(out, '"');
    for (; left > 0; run = plain_run(at, left)) {
        if (run == 0 && at[0] < 0x80) {
            write_special(out, at[0]);
            run = 1;
        } else if (run > 0 || (run = utf8_sequence(at, left, &bad)) > 0) {
            text_append(out, at, run);
        } else {
            text_append_string(out, UTF8_REPLACEMENT);
            run = bad;
        }
        at += run;
        left -= run;
    }
    text_append_char(out, '"');
}

/* `"key":`, after a comma where one is due, at one go. */
static void write_plain_key(struct json_writer *writer, struct bytes key)
{
    char *to = text_reserve(writer->out, key.len + 4), *begin = to;
    if (!writer->first)
        *to++ = ',';
    *to++ = '"';
    memcpy(to, key.data, key.len);
    to += key.len;
    *to++ = '"';
    *to++ = ':';
    *to = '\0';
    writer->out->len += (size_t)(to - begin);
    writer->first = false;
}

void json_key_bytes(struct json_writer *writer, struct bytes key)
{
    assert(in_object(writer) && !writer->key_pending);
    if (key.len > 0 && plain_run((const unsigned char *)key.data, key.len) == key.len) {
        write_plain_key(writer, key);
    } else {
        separate(writer);
        write_string(writer->out, key);
        text_append_char(writer->out, ':');
    }
    writer->key_pending = true;
}

void json_key(struct json_writer *writer, const char *key)
{
    json_key_bytes(writer, bytes_of(key));
}

void json_put_string(struct json_writer *writer, struct bytes value)
{
    start_value(writer);
    if (value.data == NULL)
        text_append_string(writer->out, "null");
    else
        write_string(writer->out, value);
}

void json_put_cstring(struct json_writer *writer, const char *value)
{
    json_put_string(writer, bytes_of(value));
}

void json_put_i64(struct json_writer *writer, int64_t value)
{
    start_value(writer);
    text_append_i64(writer->out, value);
}

void json_put_u64(struct json_writer *writer, uint64_t value)
{
    start_value(writer);
    text_append_u64(writer->out, value);
}

/* The fewest significant digits of `value` > 0 that read back equal, without point and trailing
 * zeros; `*point` is the decimal point's place counted from the first digit. A decimal of up to 15
 * digits survives the way through a normal double, so shorter ones need not be tried. */
static size_t shortest_digits(double value, char digits[REAL_DIGITS_MAX], int *point)
{
    char text[64];
    for (int precision = value < DBL_MIN ? 1 : DBL_DIG; precision <= REAL_DIGITS_MAX; precision++) {
        snprintf(text, sizeof text, "%.*e", precision - 1, value);
        if (strtod(text, NULL) == value)
            break;
    }
    size_t count = 0;
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            digits[count++] = *at;
    *point = (int)strtol(at + 1, NULL, 10) + 1;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

static void write_digits(struct text *out, const char *digits, size_t count, int point)
{
    if (point > REAL_INTEGER_DIGITS_MAX || point < -REAL_ZEROS_MAX) {
        text_append(out, digits, 1);
        if (count > 1)
            text_append_char(out, '.');
        text_append(out, digits + 1, count - 1);
        text_appendf(out, "e%d", point - 1);
        return;
    }
    if (point <= 0)
        text_append_string(out, "0.");
    for (int i = point; i < 0; i++)
        text_append_char(out, '0');
    for (size_t i = 0; i < count || (int)i < point; i++) {
        if (i > 0 && (int)i == point)
            text_append_char(out, '.');
        text_append_char(out, i < count ? digits[i] : '0');
    }
    /* Keeps the value a real for whoever reads it. */
    if ((int)count <= point)
        text_append_string(out, ".0");
}

void json_put_real(struct json_writer *writer, double value)
{
    start_value(writer);
    if (!isfinite(value)) {
        text_append_string(writer->out, "null");
        return;
    }
    if (signbit(value))
        text_append_char(writer->out, '-');
    char digits[REAL_DIGITS_MAX] = {'0'};
    int point = 1;
    size_t count = 1;
    if (fpclassify(value) != FP_ZERO)
        count = shortest_digits(fabs(value), digits, &point);
    write_digits(writer->out, digits, count, point);
}

void json_put_bool(struct json_writer *writer, bool value)
{
    start_value(writer);
    text_append_string(writer->out, value ? "true" : "false");
}

void json_put_null(struct json_writer *writer)
{
    start_value(writer);
    text_append_string(writer->out, "null");
}

void json_put_raw(struct json_writer *writer, struct bytes json)
{
    assert(json.len > 0);
    start_value(writer);
    text_append(writer->out, json.data, json.len);
}

void json_put_raw_members(struct json_writer *writer, struct bytes members)
{
    assert(in_object(writer) && !writer->key_pending && members.len > 0);
    separate(writer);
    text_append(writer->out, members.data, members.len);
}
