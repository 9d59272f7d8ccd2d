/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/post_facets.h"

#include "decode/url_text.h"

#include <assert.h>
#include <string.h>

#define LANG_MAX    35 /* the longest tag that has no private parts */
#define SUBTAG_MAX  8
#define FEATURE_TAG "app.bsky.richtext.facet#tag"

/* ---- lists ---- */

/* Adds what is not among them yet; what does not fit whole is left out. */
static void add_word(struct url_text *list, struct bytes word)
{
    struct url_text before = *list;
    for (size_t at = 0; at < list->len;) {
        const char *end = memchr(list->data + at, ',', list->len - at);
        size_t len = end == NULL ? list->len - at : (size_t)(end - list->data) - at;
        if (bytes_equal(bytes_make(list->data + at, len), word))
            return;
        at += len + 1;
    }
    if (list->len > 0)
        url_text_put(list, ',');
    url_text_put_bytes(list, word);
    if (list->full)
        *list = before;
}

/* Letters first, then parts of one to eight letters and digits. */
static bool is_language(struct bytes word)
{
    size_t part = 0;
    if (word.len < 2 || word.len > LANG_MAX || url_lower(word.data[0]) < 'a')
        return false;
    for (size_t i = 0; i < word.len; i++) {
        bool hyphen = word.data[i] == '-';
        if (hyphen ? part == 0 : !url_letter_or_digit(word.data[i]))
            return false;
        part = hyphen ? 0 : part + 1;
        if (part > SUBTAG_MAX)
            return false;
    }
    return part > 0;
}

static bool is_hashtag(struct bytes word)
{
    for (size_t i = 0; i < word.len; i++)
        if (word.data[i] == ',' || (unsigned char)word.data[i] < ' ')
            return false;
    return word.len > 0;
}

static void read_words(struct json list, bool (*fits)(struct bytes word), struct url_text *out)
{
    struct json_walk walk = json_walk(list);
    struct bytes key, word;
    struct json value;
    if (json_type(list) != JSON_ARRAY)
        return;
    while (json_walk_next(&walk, &key, &value))
        if (json_string(value, &word) && fits(word))
            add_word(out, word);
}

/* ---- JSON ---- */

static void put_string(struct url_text *out, struct bytes string)
{
    static const char hex[] = "0123456789abcdef";
    size_t done = 0;
    url_text_put(out, '"');
    for (size_t i = 0; i < string.len; i++) {
        unsigned char c = (unsigned char)string.data[i];
        if (c >= ' ' && c != '"' && c != '\\')
            continue;
        url_text_put_bytes(out, url_cut(string, done, i));
        done = i + 1;
        if (c >= ' ')
            url_text_put_bytes(out, bytes_make((char[]){'\\', (char)c}, 2));
        else
            url_text_put_bytes(
                out, bytes_make((char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6));
    }
    url_text_put_bytes(out, url_cut(string, done, string.len));
    url_text_put(out, '"');
}

static void put_value(struct url_text *out, struct json value);

static void put_container(struct url_text *out, struct json value, bool object)
{
    struct json_walk walk = json_walk(value);
    struct bytes key;
    struct json child;
    bool first = true;
    url_text_put(out, object ? '{' : '[');
    while (!out->full && json_walk_next(&walk, &key, &child)) {
        if (!first)
            url_text_put(out, ',');
        first = false;
        if (object) {
            put_string(out, key);
            url_text_put(out, ':');
        }
        put_value(out, child);
    }
    url_text_put(out, object ? '}' : ']');
}

/* As deep as the document, which is JSON_DEPTH_MAX at most. A number with a fraction has no place
 * in rich text and is not worth its digits: null. */
static void put_value(struct url_text *out, struct json value)
{
    char digits[DECIMAL_MAX];
    enum json_type type = json_type(value);
    int64_t number;
    bool yes;
    if (type == JSON_STRING)
        put_string(out, json_string_or_absent(value));
    else if (type == JSON_OBJECT || type == JSON_ARRAY)
        put_container(out, value, type == JSON_OBJECT);
    else if (json_i64(value, &number))
        url_text_put_bytes(out, decimal_of(number, digits));
    else if (json_bool(value, &yes))
        url_text_put_string(out, yes ? "true" : "false");
    else
        url_text_put_string(out, "null");
}

/* ---- rich text ---- */

static bool is_whole(struct json facet, size_t text_len)
{
    struct json index = json_get(facet, "index");
    uint64_t start, end;
    return json_u64(json_get(index, "byteStart"), &start) &&
           json_u64(json_get(index, "byteEnd"), &end) && start < end && end <= text_len &&
           json_type(json_get(facet, "features")) == JSON_ARRAY;
}

static void read_marked(struct json features, struct url_text *tags)
{
    struct json_walk walk = json_walk(features);
    struct bytes key, tag;
    struct json feature;
    while (json_walk_next(&walk, &key, &feature)) {
        struct bytes type = json_string_or_absent(json_get(feature, "$type"));
        if (bytes_equal_string(type, FEATURE_TAG) && json_string(json_get(feature, "tag"), &tag) &&
            is_hashtag(tag))
            add_word(tags, tag);
    }
}

static void read_facets(struct json facets, size_t text_len, struct url_text *out,
                        struct url_text *tags)
{
    struct json_walk walk = json_walk(facets);
    struct bytes key;
    struct json facet;
    if (json_type(facets) != JSON_ARRAY)
        return;
    while (json_walk_next(&walk, &key, &facet)) {
        struct url_text before = *out;
        if (!is_whole(facet, text_len))
            continue;
        read_marked(json_get(facet, "features"), tags);
        url_text_put(out, out->len == 0 ? '[' : ',');
        put_value(out, facet);
        if (out->full)
            *out = before; /* the next one may be shorter */
    }
    if (out->len == 0)
        return;
    out->max++; /* kept for this */
    url_text_put(out, ']');
    assert(!out->full);
}

static bool keep(struct arena *arena, const struct url_text *text, struct bytes *out)
{
    *out = text->len == 0 ? BYTES_ABSENT : arena_copy(arena, url_text_bytes(text));
    return text->len == 0 || out->data != NULL;
}

bool post_facets_read(struct json record, struct arena *arena, struct post_facets *out)
{
    char lang_room[POST_LANGS_MAX], tag_room[POST_TAGS_MAX], facet_room[POST_FACETS_MAX];
    struct url_text langs = url_text_over(lang_room, sizeof lang_room);
    struct url_text tags = url_text_over(tag_room, sizeof tag_room);
    struct url_text facets = url_text_over(facet_room, sizeof facet_room - 1);
    assert(arena != NULL && out != NULL);
    read_words(json_get(record, "langs"), is_language, &langs);
    read_words(json_get(record, "tags"), is_hashtag, &tags);
    read_facets(json_get(record, "facets"), json_string_or_absent(json_get(record, "text")).len,
                &facets, &tags);
    return keep(arena, &langs, &out->langs) && keep(arena, &tags, &out->tags) &&
           keep(arena, &facets, &out->facets);
}
