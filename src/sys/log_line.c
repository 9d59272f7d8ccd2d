/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/log_line.h"

#include "base/json_write.h"
#include "base/timestamp.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Room for what closes every line, whatever was left out before it: names of component and event
 * are literals and short. */
#define NAME_MAX_BYTES 128
#define TAIL_MAX       384

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static struct bytes name_of(const char *literal)
{
    struct bytes name = bytes_of(literal);
    assert(name.len <= NAME_MAX_BYTES);
    return name;
}

/* Cuts at a character's beginning. */
static struct bytes cut(struct bytes value, size_t len)
{
    while (len > 0 && ((unsigned char)value.data[len] & 0xc0) == 0x80)
        len--;
    return bytes_make(value.data, len);
}

/* Where the next one is from `at` on, or the end. */
static size_t next_control(struct bytes text, size_t at)
{
    for (; at < text.len; at++) {
        at += strcspn(text.data + at, "\x7f\xc2\xd8\xe2");
        if (at < text.len && utf8_steers(text, at) > 0)
            break;
    }
    return at < text.len ? at : text.len;
}

static unsigned point_of(const char *character, size_t len)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f};
    unsigned point = (unsigned char)character[0] & first[len];
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)character[i] & 0x3f);
    return point;
}

/* Delete, the C1 controls and those of direction pass through JSON; a terminal would obey them. */
static void escape_controls(struct text *line, size_t start)
{
    struct bytes text = text_bytes(line);
    size_t first = next_control(text, start);
    if (first == text.len)
        return;
    struct text clean = {0};
    for (size_t at = first; at < text.len;) {
        size_t len = utf8_steers(text, at), next = next_control(text, at + len);
        text_appendf(&clean, "\\u%04x", point_of(text.data + at, len));
        text_append(&clean, text.data + at + len, next - at - len);
        at = next;
    }
    line->len = first;
    text_append(line, clean.data, clean.len);
    text_free(&clean);
}

static void put_json(struct json_writer *writer, const struct log_field *field)
{
    switch (field->type) {
    case LOG_TYPE_TEXT:
        json_put_string(writer, field->text);
        return;
    case LOG_TYPE_INT:
        json_put_i64(writer, field->number);
        return;
    case LOG_TYPE_REAL:
        json_put_real(writer, field->real);
        return;
    case LOG_TYPE_BOOL:
        json_put_bool(writer, field->truth);
        return;
    case LOG_TYPE_END:
        return;
    }
}

/* A JSON string is a logfmt value; the quotes go where nothing needs them. */
static void put_logfmt(struct text *out, const struct log_field *field)
{
    struct json_writer writer;
    struct text quoted = {0};
    json_writer_init(&writer, &quoted);
    put_json(&writer, field);
    struct bytes inner = text_bytes(&quoted);
    if (field->type == LOG_TYPE_TEXT && inner.len > 2 && inner.data[0] == '"') {
        struct bytes bare = bytes_make(inner.data + 1, inner.len - 2);
        bool needed = false;
        for (size_t i = 0; i < bare.len && !needed; i++)
            needed = bare.data[i] == '\\' || bare.data[i] == ' ' || bare.data[i] == '=';
        inner = needed ? inner : bare;
    }
    text_append(out, inner.data, inner.len);
    text_free(&quoted);
}

struct composer {
    enum log_format format;
    struct text *out;
    struct json_writer writer;
    bool truncated;
};

static void put_field(struct composer *composer, const struct log_field *field)
{
    size_t start = composer->out->len;
    if (composer->format == LOG_FORMAT_JSON) {
        json_key(&composer->writer, field->key);
        put_json(&composer->writer, field);
    } else {
        text_appendf(composer->out, "%s=", field->key);
        put_logfmt(composer->out, field);
        text_append_char(composer->out, ' ');
    }
    escape_controls(composer->out, start);
}

/* Writes the field, a shorter one, or none. */
static void fit_field(struct composer *composer, struct log_field field)
{
    struct json_writer writer = composer->writer;
    size_t start = composer->out->len, room = LOG_LINE_MAX - TAIL_MAX;
    assert(start <= room);
    room -= start;
    if (field.type == LOG_TYPE_TEXT && field.text.len > room) {
        field.text = cut(field.text, room);
        composer->truncated = true;
    }
    for (;;) {
        put_field(composer, &field);
        size_t written = composer->out->len - start;
        if (written <= room)
            return;
        assert(written > 0);
        composer->truncated = true;
        composer->writer = writer;
        composer->out->len = start;
        if (field.type != LOG_TYPE_TEXT || field.text.len < 2)
            return;
        /* Escapes made it longer: what is left grows about as much. */
        size_t len = field.text.len * room / written;
        field.text = cut(field.text, len < field.text.len ? len : field.text.len - 1);
    }
}

static void put_fields(struct composer *composer, const struct log_line *line)
{
    for (const struct log_field *field = line->fields; field != NULL && field->type != LOG_TYPE_END;
         field++)
        fit_field(composer, *field);
    if (line->suppressed > 0)
        fit_field(composer, log_int("suppressed", (int64_t)line->suppressed));
    if (composer->truncated) {
        struct log_field said = log_bool("truncated", true);
        put_field(composer, &said);
    }
}

static void format_json(const struct log_line *line, const char *time, struct text *out)
{
    struct composer composer = {.format = LOG_FORMAT_JSON, .out = out};
    struct json_writer *writer = &composer.writer;
    json_writer_init(writer, out);
    json_begin_object(writer);
    json_key(writer, "timestamp");
    json_put_cstring(writer, time);
    json_key(writer, "level");
    json_put_cstring(writer, level_names[line->level]);
    json_key(writer, "component");
    json_put_string(writer, name_of(line->component));
    json_key(writer, "event_type");
    json_put_string(writer, name_of(line->event_type));
    json_key(writer, "metadata");
    json_begin_object(writer);
    if (line->tag != NULL) {
        fit_field(&composer, log_string("tag", line->tag));
        fit_field(&composer, log_text("message", line->words));
    }
    put_fields(&composer, line);
    json_end_object(writer);
    json_end_object(writer);
}

/* The words as they are, but for what a line or a terminal cannot take. */
static void format_tagged(const struct log_line *line, struct text *out)
{
    struct json_writer writer;
    struct text quoted = {0};
    text_appendf(out, "[%s] ", line->tag);
    size_t start = out->len;
    json_writer_init(&writer, &quoted);
    json_put_string(&writer,
                    line->words.len > LOG_LINE_MAX ? cut(line->words, LOG_LINE_MAX) : line->words);
    for (size_t i = 1; i + 1 < quoted.len; i++) {
        if (quoted.data[i] == '\\') {
            i++;
            if (quoted.data[i] != '"')
                text_append_char(out, '\\');
        }
        text_append_char(out, quoted.data[i]);
    }
    text_free(&quoted);
    escape_controls(out, start);
    if (out->len > LOG_LINE_MAX - TAIL_MAX) {
        out->len = start + cut(bytes_make(out->data + start, out->len - start),
                               LOG_LINE_MAX - TAIL_MAX - start)
                               .len;
        text_append_string(out, "...");
    }
}

static void format_logfmt(const struct log_line *line, const char *time, struct text *out)
{
    struct composer composer = {.format = LOG_FORMAT_TEXT, .out = out};
    struct log_field object = log_text("component", name_of(line->component));
    struct log_field said = log_text("msg", name_of(line->event_type));
    put_field(&composer, &object);
    put_fields(&composer, line);
    put_field(&composer, &said);
    text_appendf(out, "level=%s time=%s", level_names[line->level], time);
}

void log_line_format(const struct log_line *line, enum log_format format, struct text *out)
{
    char time[TIMESTAMP_TEXT_MAX];
    if (!timestamp_format(line->wall_us, time))
        snprintf(time, sizeof time, "0000-00-00T00:00:00.000Z");
    text_clear(out);
    if (format == LOG_FORMAT_JSON)
        format_json(line, time, out);
    else if (line->tag != NULL)
        format_tagged(line, out);
    else
        format_logfmt(line, time, out);
    text_append_char(out, '\n');
    assert(out->len <= LOG_LINE_MAX);
}
