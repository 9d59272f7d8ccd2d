/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_expand.h"

#include "base/json_write.h"
#include "base/timestamp.h"

#include <string.h>

#define DATE_LEN 10
#define DAY_US   (INT64_C(86400) * 1000000)

void connector_percent_encode(struct bytes text, struct text *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                     strchr("-._~", c) != NULL;
        if (plain && c != 0)
            text_append_char(out, (char)c);
        else
            text_append(out, (char[]){'%', digits[c >> 4], digits[c & 15]}, 3);
    }
}

/* ---- variables ---- */

static bool append_number(int64_t number, struct text *out)
{
    if (number < 0)
        return false;
    text_append_i64(out, number);
    return true;
}

static bool append_time(int64_t us, enum connector_cast cast, int64_t less, struct text *out)
{
    char text[TIMESTAMP_TEXT_MAX];
    switch (cast) {
    case CAST_UNIX_S:
        us = us / 1000000 - less;
        break;
    case CAST_UNIX_MS:
        us = us / 1000 - less;
        break;
    case CAST_UNIX_NS:
        us -= less;
        break;
    case CAST_RFC3339:
    case CAST_DATE:
        less *= cast == CAST_DATE ? DAY_US : 1;
        if (!timestamp_format(us < less ? 0 : us - less, text))
            return false;
        text_append(out, text, cast == CAST_DATE ? DATE_LEN : strlen(text));
        return true;
    default:
        us -= less;
        break;
    }
    text_append_i64(out, us < 0 ? 0 : us);
    if (cast == CAST_UNIX_NS && us > 0)
        text_append_string(out, "000");
    return true;
}

/* In the words of the stream's `resume`. */
static bool append_position(const struct connector_stream *stream, int64_t position, bool lower,
                            struct text *out)
{
    int64_t less = lower && stream->resume.exclusive ? 1 : 0;
    if (position < 0)
        return false;
    if (stream->resume.kind == RESUME_TIMESTAMP)
        return append_time(position, stream->resume.cast, less, out);
    position = position < less ? 0 : position - less;
    if (stream->resume.cast == CAST_HEX)
        text_appendf(out, "0x%llx", (unsigned long long)position);
    else
        text_append_i64(out, position);
    return true;
}

static bool append_bytes(struct bytes bytes, struct text *out)
{
    if (bytes.data == NULL)
        return false;
    text_append(out, bytes.data, bytes.len);
    return true;
}

/* Topics hold an address at the end of a word. */
static bool append_word(struct bytes address, struct text *out)
{
    size_t prefix = strlen("0x");
    if (address.len != prefix + EVM_ADDRESS_DIGITS)
        return false;
    text_appendf(out, "0x%0*d", EVM_WORD_DIGITS - EVM_ADDRESS_DIGITS, 0);
    text_append(out, address.data + prefix, EVM_ADDRESS_DIGITS);
    return true;
}

static const struct connector_value *find(const struct connector_value *map, struct bytes name)
{
    const struct connector_value *value = map == NULL ? NULL : map->first;
    while (value != NULL && !bytes_equal_string(name, value->key))
        value = value->next;
    return value;
}

/* A constant may itself name variables, but no constants. */
static bool append_constant(const struct connector_scope *scope, struct bytes name,
                            struct text *out)
{
    const struct connector_stream *stream = scope->stream;
    const struct connector_value *value = NULL;
    if (stream != NULL && scope->vars->partition < stream->partition_count)
        value = find(stream->partitions[scope->vars->partition].constants, name);
    if (value == NULL && scope->platform != NULL)
        value = find(scope->platform->constants, name);
    for (size_t i = 0; value != NULL && i < value->text.count; i++)
        if (value->text.pieces[i].variable == VARIABLE_CONSTANT)
            return false;
    return value != NULL && connector_expand(scope, &value->text, false, out);
}

static bool append_piece(const struct connector_scope *scope, const struct connector_piece *piece,
                         struct text *out)
{
    const struct connector_vars *vars = scope->vars;
    switch (piece->variable) {
    case VARIABLE_LITERAL:
        return append_bytes(piece->text, out);
    case VARIABLE_ACCOUNT:
        return append_bytes(vars->account, out);
    case VARIABLE_PLATFORM:
        return append_bytes(vars->platform, out);
    case VARIABLE_FROM:
        return scope->stream != NULL && append_position(scope->stream, vars->from, true, out);
    case VARIABLE_TO:
        return scope->stream != NULL && append_position(scope->stream, vars->to, false, out);
    case VARIABLE_PAGE:
        return append_number(vars->page, out);
    case VARIABLE_OFFSET:
        return append_number(vars->offset, out);
    case VARIABLE_SIZE:
        return append_number(vars->size, out);
    case VARIABLE_TOKEN:
        return append_bytes(vars->token, out);
    case VARIABLE_NOW_MS:
        return append_number(vars->now_ms, out);
    case VARIABLE_NONCE:
        return append_number(vars->nonce, out);
    case VARIABLE_API_KEY:
        return append_bytes(vars->api_key, out);
    case VARIABLE_KEY:
        return append_bytes(vars->key, out);
    case VARIABLE_PART:
        return append_bytes(vars->part, out);
    case VARIABLE_ACCOUNT_WORD:
        return append_word(vars->account, out);
    case VARIABLE_SINCE_S:
        return append_number(vars->since_s, out);
    case VARIABLE_CONSTANT:
        return append_constant(scope, piece->text, out);
    }
    return false;
}

static bool append_encoded(const struct connector_scope *scope, const struct connector_piece *piece,
                           struct text *out)
{
    struct text plain = {0};
    bool there = append_piece(scope, piece, &plain);
    if (there)
        connector_percent_encode(text_bytes(&plain), out);
    text_free(&plain);
    return there;
}

/* A path keeps its slashes where it is a path already. */
static bool append_segments(const struct connector_scope *scope,
                            const struct connector_piece *piece, struct text *out)
{
    struct bytes rest = scope->vars->account;
    if (piece->variable != VARIABLE_ACCOUNT || scope->connector->identifier != IDENTIFIER_PATH)
        return append_encoded(scope, piece, out);
    while (rest.len > 0) {
        const char *slash = memchr(rest.data, '/', rest.len);
        size_t len = slash == NULL ? rest.len : (size_t)(slash - rest.data);
        connector_percent_encode(bytes_make(rest.data, len), out);
        if (slash != NULL)
            text_append_char(out, '/');
        size_t step = len + (slash != NULL ? 1 : 0);
        rest = bytes_make(rest.data + step, rest.len - step);
    }
    return scope->vars->account.data != NULL;
}

/* ---- texts ---- */

static void cut(struct text *text, size_t len)
{
    text->len = len;
    if (text->data != NULL)
        text->data[len] = '\0';
}

bool connector_expand(const struct connector_scope *scope, const struct connector_template *text,
                      bool encoded, struct text *out)
{
    size_t begin = out->len;
    for (size_t i = 0; i < text->count; i++) {
        bool there = encoded ? append_encoded(scope, &text->pieces[i], out)
                             : append_piece(scope, &text->pieces[i], out);
        if (!there) {
            cut(out, begin);
            return false;
        }
    }
    text_append(out, "", 0);
    return true;
}

void connector_expand_path(const struct connector_scope *scope,
                           const struct connector_template *text, struct text *out)
{
    size_t segment = out->len;
    bool missing = false;
    for (size_t i = 0; i < text->count; i++) {
        const struct connector_piece *piece = &text->pieces[i];
        if (piece->variable != VARIABLE_LITERAL) {
            missing = !append_segments(scope, piece, out) || missing;
            continue;
        }
        for (size_t at = 0; at < piece->text.len; at++) {
            if (piece->text.data[at] == '/') {
                if (missing)
                    cut(out, segment);
                segment = out->len;
                missing = false;
            }
            text_append_char(out, piece->text.data[at]);
        }
    }
    if (missing)
        cut(out, segment);
}

/* ---- JSON ---- */

/* What a lone variable brings is a JSON value of its own rather than a string. */
static bool is_bare(const struct connector_scope *scope, const struct connector_value *value)
{
    const struct connector_stream *stream = scope->stream;
    if (value->kind == VALUE_BARE)
        return true;
    if (value->text.count != 1)
        return false;
    switch (value->text.pieces[0].variable) {
    case VARIABLE_PAGE:
    case VARIABLE_OFFSET:
    case VARIABLE_SIZE:
    case VARIABLE_NOW_MS:
    case VARIABLE_NONCE:
    case VARIABLE_SINCE_S:
        return true;
    case VARIABLE_FROM:
    case VARIABLE_TO:
        return stream->resume.cast != CAST_HEX && stream->resume.cast != CAST_RFC3339 &&
               stream->resume.cast != CAST_DATE;
    case VARIABLE_TOKEN:
        return stream->page.next_cast == CAST_JSON;
    default:
        return false;
    }
}

static void write_value(const struct connector_scope *scope, const struct connector_value *value,
                        struct json_writer *writer, struct text *scratch)
{
    text_clear(scratch);
    if (value->kind == VALUE_LIST || value->kind == VALUE_MAP) {
        bool map = value->kind == VALUE_MAP;
        if (value->key != NULL)
            json_key(writer, value->key);
        if (map)
            json_begin_object(writer);
        else
            json_begin_array(writer);
        for (const struct connector_value *at = value->first; at != NULL; at = at->next)
            write_value(scope, at, writer, scratch);
        if (map)
            json_end_object(writer);
        else
            json_end_array(writer);
        return;
    }
    if (!connector_expand(scope, &value->text, false, scratch))
        return;
    if (value->key != NULL)
        json_key(writer, value->key);
    if (is_bare(scope, value))
        json_put_raw(writer, text_bytes(scratch));
    else
        json_put_string(writer, text_bytes(scratch));
}

void connector_expand_json(const struct connector_scope *scope, const struct connector_value *value,
                           struct text *out)
{
    struct json_writer writer;
    struct text scratch = {0};
    json_writer_init(&writer, out);
    write_value(scope, value, &writer, &scratch);
    text_free(&scratch);
}
