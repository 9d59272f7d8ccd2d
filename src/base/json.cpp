/* SPDX-License-Identifier: Apache-2.0 */
#define SIMDJSON_EXCEPTIONS 0
#include "base/json.h"

#include "base/arena.h"
#include "base/json_write.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <simdjson.h>
#include <type_traits>

namespace dom = simdjson::dom;

static_assert(simdjson::SIMDJSON_PADDING <= ARENA_PAD, "the parser reads beyond the padding");

#define DOC_BYTES_FIRST ((size_t)16 * 1024)
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct json_doc {
    dom::parser parser;
    size_t bytes_max = 0;
    unsigned depth_max = 0;
    char *copy = nullptr;
    size_t copy_size = 0;
};

/* simdjson's own places in a document are a pointer and an index, freely copied as bytes. Ours hold
 * those bytes, so that a value needs no memory of its own and C can carry it. */
template <typename T> static inline T place_from(struct json value)
{
    static_assert(sizeof(T) == sizeof value && std::is_trivially_copyable<T>::value,
                  "struct json cannot carry this");
    T place;
    memcpy(static_cast<void *>(&place), &value, sizeof place);
    return place;
}

template <typename T> static inline struct json place_to(const T &place)
{
    static_assert(sizeof(T) == sizeof(struct json) && std::is_trivially_copyable<T>::value,
                  "struct json cannot carry this");
    struct json value;
    memcpy(&value, static_cast<const void *>(&place), sizeof value);
    return value;
}

static const struct json absent = {nullptr, 0};

static inline bool as_object(struct json value, dom::object *out)
{
    return value.doc != nullptr && !place_from<dom::element>(value).get_object().get(*out);
}

static inline bool as_array(struct json value, dom::array *out)
{
    return value.doc != nullptr && !place_from<dom::element>(value).get_array().get(*out);
}

static inline struct bytes bytes_from(std::string_view view)
{
    return bytes_make(view.data(), view.size());
}

struct json_doc *json_doc_new(size_t bytes_max, unsigned depth_max)
{
    assert(bytes_max > 0 && bytes_max < UINT32_MAX / 2);
    assert(depth_max >= 2 && depth_max <= JSON_ANSWER_DEPTH_MAX);
    size_t first = bytes_max < DOC_BYTES_FIRST ? bytes_max : DOC_BYTES_FIRST;
    struct json_doc *doc = new (std::nothrow) json_doc;
    if (doc == nullptr || doc->parser.allocate(first, depth_max))
        abort();
    doc->bytes_max = bytes_max;
    doc->depth_max = depth_max;
    return doc;
}

void json_doc_free(struct json_doc *doc)
{
    if (doc == nullptr)
        return;
    free(doc->copy);
    delete doc;
}

/* The code unit of the escape \uXXXX at `at`, or -1 when there is no such escape. */
static int32_t escaped_unit(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int32_t digit = at[i] - '0';
        if (digit < 0 || digit > 9) {
            digit = (at[i] | 0x20) - 'a' + 10;
            if (digit < 10 || digit > 15)
                return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Finds the next escape from `at` on that has to become \ufffd; NULL when there is none. Every
 * escape is stepped over as a whole, which tells `\\u0000` (a backslash and letters) from
 * `\u0000`. Backslashes outside of strings mislead it, but no document with one parses. */
static const char *find_unfit_escape(const char *at, const char *end)
{
    while (at < end) {
        at = static_cast<const char *>(memchr(at, '\\', (size_t)(end - at)));
        if (at == nullptr)
            return nullptr;
        int32_t unit = escaped_unit(at, end);
        if (unit < 0) {
            at += 2;
            continue;
        }
        if (unit == 0 || (unit >= 0xdc00 && unit <= 0xdfff))
            return at;
        at += 6;
        if (unit >= 0xd800 && unit <= 0xdbff) {
            int32_t low = escaped_unit(at, end);
            if (low < 0xdc00 || low > 0xdfff)
                return at - 6;
            at += 6;
        }
    }
    return nullptr;
}

static char *copy_input(struct json_doc *doc, struct bytes input)
{
    if (doc->copy_size < input.len + ARENA_PAD) {
        free(doc->copy);
        doc->copy_size = input.len + input.len / 2 + ARENA_PAD;
        doc->copy = static_cast<char *>(memory_new(doc->copy_size));
    }
    if (input.len > 0)
        memcpy(doc->copy, input.data, input.len);
    memset(doc->copy + input.len, 0, ARENA_PAD);
    return doc->copy;
}

static struct bytes without_mark(struct bytes input)
{
    if (!bytes_starts_with(input, BYTE_ORDER_MARK))
        return input;
    return bytes_make(input.data + 3, input.len - 3);
}

static enum rc reject(const struct json_doc *doc, simdjson::error_code code, struct err *err)
{
    switch (code) {
    case simdjson::MEMALLOC:
        abort();
    case simdjson::EMPTY:
        return err_set(err, RC_REJECT, "JSON: the document is empty");
    case simdjson::DEPTH_ERROR:
        return err_set(err, RC_REJECT, "JSON: nested more than %u levels deep", doc->depth_max);
    case simdjson::UTF8_ERROR:
        return err_set(err, RC_REJECT, "JSON: not valid UTF-8");
    case simdjson::UNCLOSED_STRING:
        return err_set(err, RC_REJECT, "JSON: a string does not end");
    case simdjson::UNESCAPED_CHARS:
        return err_set(err, RC_REJECT, "JSON: a bare control character in a string");
    case simdjson::STRING_ERROR:
        return err_set(err, RC_REJECT, "JSON: a string with a bad escape");
    case simdjson::NUMBER_ERROR:
        return err_set(err, RC_REJECT, "JSON: a number that is malformed or too large to be exact");
    default:
        return err_set(err, RC_REJECT, "JSON: not well-formed (%s)", simdjson::error_message(code));
    }
}

static enum rc check_input(const struct json_doc *doc, struct bytes input, struct err *err)
{
    if (input.len > doc->bytes_max)
        return err_set(err, RC_REJECT, "JSON: %zu bytes, and at most %zu are allowed", input.len,
                       doc->bytes_max);
    if (input.len == 0)
        return reject(doc, simdjson::EMPTY, err);
    /* Some versions of the parser would skip one more. */
    if (bytes_starts_with(input, BYTE_ORDER_MARK))
        return err_set(err, RC_REJECT, "JSON: not well-formed (a second byte order mark)");
    return RC_OK;
}

static enum rc parse_fit(struct json_doc *doc, struct bytes input, struct json *root,
                         struct err *err)
{
    dom::element element;
    simdjson::error_code code = doc->parser.parse(input.data, input.len, false).get(element);
    if (code)
        return reject(doc, code, err);
    *root = place_to(element);
    return RC_OK;
}

/* Replaces the escape `unfit`, or none when NULL, and all after it. */
static void replace_unfit(char *unfit, const char *end)
{
    while (unfit != nullptr) {
        memcpy(unfit, "\\ufffd", 6);
        unfit = const_cast<char *>(find_unfit_escape(unfit + 6, end));
    }
}

enum rc json_parse(struct json_doc *doc, struct bytes input, struct json *root, struct err *err)
{
    *root = absent;
    input = without_mark(input);
    if (check_input(doc, input, err) != RC_OK)
        return RC_REJECT;
    const char *unfit = find_unfit_escape(input.data, input.data + input.len);
    if (unfit != nullptr) {
        char *copy = copy_input(doc, input);
        replace_unfit(copy + (unfit - input.data), copy + input.len);
        input.data = copy;
    }
    return parse_fit(doc, input, root, err);
}

enum rc json_parse_copy(struct json_doc *doc, struct bytes input, struct json *root,
                        struct err *err)
{
    *root = absent;
    input = without_mark(input);
    if (check_input(doc, input, err) != RC_OK)
        return RC_REJECT;
    char *copy = copy_input(doc, input);
    const char *unfit = find_unfit_escape(copy, copy + input.len);
    replace_unfit(const_cast<char *>(unfit), copy + input.len);
    return parse_fit(doc, bytes_make(copy, input.len), root, err);
}

enum json_type json_type(struct json value)
{
    if (value.doc == nullptr)
        return JSON_ABSENT;
    switch (place_from<dom::element>(value).type()) {
    case dom::element_type::NULL_VALUE:
        return JSON_NULL;
    case dom::element_type::BOOL:
        return JSON_BOOL;
    case dom::element_type::INT64:
        return JSON_INT;
    case dom::element_type::UINT64:
        return JSON_UINT;
    case dom::element_type::DOUBLE:
        return JSON_REAL;
    case dom::element_type::STRING:
        return JSON_STRING;
    case dom::element_type::ARRAY:
        return JSON_ARRAY;
    case dom::element_type::OBJECT:
        return JSON_OBJECT;
    default:
        abort();
    }
}

template <typename T> static inline bool same_word(const char *a, const char *b)
{
    T left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return left == right;
}

/* Names are short: comparing both ends of them, which may overlap, beats calling memcmp. */
static inline bool same_name(const char *a, const char *b, size_t len)
{
    if (len > 16)
        return memcmp(a, b, len) == 0;
    if (len >= 8)
        return same_word<uint64_t>(a, b) && same_word<uint64_t>(a + len - 8, b + len - 8);
    if (len >= 4)
        return same_word<uint32_t>(a, b) && same_word<uint32_t>(a + len - 4, b + len - 4);
    if (len >= 2)
        return same_word<uint16_t>(a, b) && same_word<uint16_t>(a + len - 2, b + len - 2);
    return len == 0 || *a == *b;
}

struct json json_get_bytes(struct json object, struct bytes key)
{
    dom::object members;
    if (!as_object(object, &members))
        return absent;
    for (auto at = members.begin(), end = members.end(); at != end; ++at)
        if (at.key_length() == key.len && same_name(at.key_c_str(), key.data, key.len))
            return place_to(at.value());
    return absent;
}

struct json json_at(struct json array, size_t index)
{
    dom::array elements;
    if (!as_array(array, &elements))
        return absent;
    for (auto at = elements.begin(), end = elements.end(); at != end; ++at)
        if (index-- == 0)
            return place_to(*at);
    return absent;
}

/* Whether a pointer's token, in which ~0 is ~ and ~1 is /, names `key`. */
static bool token_names(struct bytes token, std::string_view key)
{
    size_t k = 0;
    for (size_t i = 0; i < token.len; i++, k++) {
        char c = token.data[i];
        if (c == '~') {
            if (++i == token.len || (token.data[i] != '0' && token.data[i] != '1'))
                return false;
            c = token.data[i] == '0' ? '~' : '/';
        }
        if (k >= key.size() || key[k] != c)
            return false;
    }
    return k == key.size();
}

static struct json follow_token(struct json value, struct bytes token)
{
    dom::object members;
    if (!as_object(value, &members)) {
        uint64_t index;
        if ((token.len > 1 && token.data[0] == '0') || !bytes_to_u64(token, &index))
            return absent;
        return json_at(value, index);
    }
    for (auto at = members.begin(), end = members.end(); at != end; ++at)
        if (token_names(token, at.key()))
            return place_to(at.value());
    return absent;
}

struct json json_pointer(struct json value, const char *pointer)
{
    while (*pointer != '\0' && value.doc != nullptr) {
        if (*pointer != '/')
            return absent;
        pointer++;
        size_t len = strcspn(pointer, "/");
        value = follow_token(value, bytes_make(pointer, len));
        pointer += len;
    }
    return value;
}

bool json_string(struct json value, struct bytes *out)
{
    std::string_view view;
    if (value.doc == nullptr || place_from<dom::element>(value).get_string().get(view))
        return false;
    *out = bytes_from(view);
    return true;
}

struct bytes json_string_or_absent(struct json value)
{
    struct bytes bytes = {nullptr, 0};
    return json_string(value, &bytes) ? bytes : bytes_make(nullptr, 0);
}

bool json_i64(struct json value, int64_t *out)
{
    return value.doc != nullptr && !place_from<dom::element>(value).get_int64().get(*out);
}

bool json_u64(struct json value, uint64_t *out)
{
    return value.doc != nullptr && !place_from<dom::element>(value).get_uint64().get(*out);
}

bool json_real(struct json value, double *out)
{
    return value.doc != nullptr && !place_from<dom::element>(value).get_double().get(*out);
}

bool json_bool(struct json value, bool *out)
{
    return value.doc != nullptr && !place_from<dom::element>(value).get_bool().get(*out);
}

size_t json_count(struct json container)
{
    /* The parser's own count saturates, so it is not asked. */
    struct json_walk walk = json_walk(container);
    struct bytes key;
    struct json value;
    size_t count = 0;
    while (json_walk_next(&walk, &key, &value))
        count++;
    return count;
}

struct json_walk json_walk(struct json container)
{
    struct json_walk walk = {absent, absent, false};
    dom::array elements;
    dom::object members;
    if (as_object(container, &members)) {
        walk.next = place_to(members.begin());
        walk.end = place_to(members.end());
        walk.object = true;
    } else if (as_array(container, &elements)) {
        walk.next = place_to(elements.begin());
        walk.end = place_to(elements.end());
    }
    return walk;
}

bool json_walk_next(struct json_walk *walk, struct bytes *key, struct json *value)
{
    if (walk->next.doc == nullptr)
        return false;
    if (walk->object) {
        auto at = place_from<dom::object::iterator>(walk->next);
        if (!(at != place_from<dom::object::iterator>(walk->end)))
            return false;
        *key = bytes_from(at.key());
        *value = place_to(at.value());
        walk->next = place_to(++at);
    } else {
        auto at = place_from<dom::array::iterator>(walk->next);
        if (!(at != place_from<dom::array::iterator>(walk->end)))
            return false;
        *key = bytes_make(nullptr, 0);
        *value = place_to(*at);
        walk->next = place_to(++at);
    }
    return true;
}

static void print_value(struct json_writer *writer, struct json value);

static void print_container(struct json_writer *writer, struct json value, bool object)
{
    struct json_walk walk = json_walk(value);
    struct bytes key;
    struct json child;
    if (object)
        json_begin_object(writer);
    else
        json_begin_array(writer);
    while (json_walk_next(&walk, &key, &child)) {
        if (object)
            json_key_bytes(writer, key);
        print_value(writer, child);
    }
    if (object)
        json_end_object(writer);
    else
        json_end_array(writer);
}

/* As deep as the document at most, which is JSON_ANSWER_DEPTH_MAX at most. */
static void print_value(struct json_writer *writer, struct json value)
{
    dom::element element = place_from<dom::element>(value);
    switch (element.type()) {
    case dom::element_type::NULL_VALUE:
        json_put_null(writer);
        break;
    case dom::element_type::BOOL:
        json_put_bool(writer, element.get_bool().value_unsafe());
        break;
    case dom::element_type::INT64:
        json_put_i64(writer, element.get_int64().value_unsafe());
        break;
    case dom::element_type::UINT64:
        json_put_u64(writer, element.get_uint64().value_unsafe());
        break;
    case dom::element_type::DOUBLE:
        json_put_real(writer, element.get_double().value_unsafe());
        break;
    case dom::element_type::STRING:
        json_put_string(writer, bytes_from(element.get_string().value_unsafe()));
        break;
    case dom::element_type::ARRAY:
        print_container(writer, value, false);
        break;
    case dom::element_type::OBJECT:
        print_container(writer, value, true);
        break;
    }
}

void json_print(struct json value, struct text *out)
{
    static_assert(JSON_ANSWER_DEPTH_MAX <= JSON_WRITE_DEPTH_MAX, "what was read can be written");
    if (value.doc == nullptr)
        return;
    struct json_writer writer;
    json_writer_init(&writer, out);
    print_value(&writer, value);
}
