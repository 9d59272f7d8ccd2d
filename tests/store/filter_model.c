/* SPDX-License-Identifier: Apache-2.0 */
#include "filter_model.h"

#include "base/timestamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static long double number_of(struct json json, enum column_type type)
{
    int64_t i;
    uint64_t u;
    double d;
    assert_true(json_real(json, &d));
    if (type == COLUMN_FLOAT)
        return d;
    return json_i64(json, &i) ? (long double)i : json_u64(json, &u) ? (long double)u : d;
}

static int sign(long double a, long double b)
{
    return (a > b) - (a < b);
}

static int compare(const struct column *column, const struct field *value, struct json json)
{
    struct bytes text = json_string_or_absent(json);
    int64_t number = 0;
    bool flag;
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_BYTES: {
        size_t shorter = text.len < value->b.len ? text.len : value->b.len;
        int order = shorter == 0 ? 0 : memcmp(value->b.data, text.data, shorter);
        return order != 0 ? order : sign(value->b.len, text.len);
    }
    case COLUMN_ID:
        return sign(value->i, strtoll(text.data, NULL, 10));
    case COLUMN_TIME:
        assert_true(timestamp_parse(text, &number));
        return sign(value->i, number);
    case COLUMN_BOOL:
        assert_true(json_bool(json, &flag));
        return sign(value->i, flag);
    default:
        return sign(value->type == FIELD_REAL ? (long double)value->d : value->i,
                    number_of(json, column->type));
    }
}

static bool finds(struct bytes whole, struct bytes part, size_t last)
{
    for (size_t i = 0; i <= last && i + part.len <= whole.len; i++)
        if (part.len == 0 || memcmp(whole.data + i, part.data, part.len) == 0)
            return true;
    return false;
}

static bool match_operators(const struct column *column, const struct field *value,
                            struct json json);

static bool match_operator(const struct column *column, const struct field *value,
                           struct bytes name, struct json json)
{
    static const char *const comparisons[] = {"$lt", "$lte", "$gt", "$gte"};
    struct json_walk walk = json_walk(json);
    struct bytes key;
    struct json item;
    bool flag = false, found = false;
    (void)json_bool(json, &flag);
    if (bytes_equal_string(name, "$not"))
        return !match_operators(column, value, json);
    if (bytes_equal_string(name, "$exists"))
        return value->null != flag;
    if (bytes_equal_string(name, "$isNull"))
        return value->null == flag;
    if (bytes_equal_string(name, "$ne"))
        return !match_operator(column, value, bytes_of("$eq"), json);
    if (bytes_equal_string(name, "$nin"))
        return !match_operator(column, value, bytes_of("$in"), json);
    while (bytes_equal_string(name, "$in") && json_walk_next(&walk, &key, &item))
        found = found || match_operator(column, value, bytes_of("$eq"), item);
    if (bytes_equal_string(name, "$in"))
        return found;
    if (value->null || json_type(json) == JSON_NULL)
        return value->null && json_type(json) == JSON_NULL;
    if (bytes_equal_string(name, "$contains"))
        return finds(value->b, json_string_or_absent(json), SIZE_MAX / 2);
    if (bytes_equal_string(name, "$prefix"))
        return finds(value->b, json_string_or_absent(json), 0);
    int order = compare(column, value, json);
    for (int i = 0; i < 4; i++)
        if (bytes_equal_string(name, comparisons[i]))
            return i == 0 ? order < 0 : i == 1 ? order <= 0 : i == 2 ? order > 0 : order >= 0;
    assert_true(bytes_equal_string(name, "$eq"));
    return order == 0;
}

static bool match_operators(const struct column *column, const struct field *value,
                            struct json json)
{
    struct json_walk walk = json_walk(json);
    struct bytes name;
    struct json operand;
    bool all = true;
    if (json_type(json) != JSON_OBJECT)
        return match_operator(column, value, bytes_of("$eq"), json);
    while (json_walk_next(&walk, &name, &operand))
        all = match_operator(column, value, name, operand) && all;
    return all;
}

bool filter_model_matches(const struct collection *collection, const struct field *row,
                          struct json json)
{
    struct json_walk walk = json_walk(json), list;
    struct bytes name, key;
    struct json member, item;
    bool all = true;
    while (json_walk_next(&walk, &name, &member)) {
        bool any = false, each = true;
        list = json_walk(member);
        if (bytes_equal_string(name, "$not")) {
            all = !filter_model_matches(collection, row, member) && all;
        } else if (bytes_equal_string(name, "$and") || bytes_equal_string(name, "$or")) {
            while (json_walk_next(&list, &key, &item)) {
                bool one = filter_model_matches(collection, row, item);
                any = any || one;
                each = each && one;
            }
            all = (bytes_equal_string(name, "$or") ? any : each) && all;
        } else {
            int at = collection_column(collection, name);
            all = match_operators(&collection->columns[at], &row[at], member) && all;
        }
    }
    return all;
}
