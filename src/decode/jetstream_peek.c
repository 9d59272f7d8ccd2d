/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jetstream_peek.h"

#include "base/timestamp.h"

#include <string.h>

#define V1_HEAD "{\"did\":\""
#define V1_TIME "\"time_us\":"
#define V2_HEAD                                                                                    \
    "{\"$type\":\"message\",\"payload\":{\"$type\":\"network.bsky.jetstream.subscribeEvents#"      \
    "commit\","
#define V2_SEQ   ",\"seq\":"
#define V2_TIME  ",\"time\":\""
#define V2_TAIL  "\"}}"
#define TIME_LEN 27 /* six digits of a second */

static bool skip(struct bytes *rest, const char *literal)
{
    size_t len = strlen(literal);
    if (rest->len < len || memcmp(rest->data, literal, len) != 0)
        return false;
    *rest = bytes_make(rest->data + len, rest->len - len);
    return true;
}

/* A string without escapes up to and with its closing quote and the comma behind it. */
static bool take_plain(struct bytes *rest, struct bytes *value)
{
    const char *end = memchr(rest->data, '"', rest->len);
    if (end == NULL)
        return false;
    *value = bytes_make(rest->data, (size_t)(end - rest->data));
    *rest = bytes_make(end + 1, rest->len - value->len - 1);
    return memchr(value->data, '\\', value->len) == NULL && skip(rest, ",");
}

static size_t count_digits(struct bytes text)
{
    size_t count = 0;
    while (count < text.len && text.data[count] >= '0' && text.data[count] <= '9')
        count++;
    return count;
}

static bool positive(struct bytes digits, int64_t *value)
{
    bool canonical = digits.len > 0 && digits.data[0] != '0';
    return canonical && bytes_to_i64(digits, value);
}

static bool peek_v1(struct bytes rest, struct jetstream_peek *peek)
{
    if (!take_plain(&rest, &peek->did) || !skip(&rest, V1_TIME))
        return false;
    size_t digits = count_digits(rest);
    if (digits == rest.len || (rest.data[digits] != ',' && rest.data[digits] != '}'))
        return false;
    return positive(bytes_make(rest.data, digits), &peek->time_us);
}

/* Position and time are the last members of the payload: the two braces at the end close the
 * payload and the message, and no string can hold the quotes in front of them unescaped. */
static bool take_tail(struct bytes frame, struct jetstream_peek *peek)
{
    static const size_t tail = sizeof V2_TAIL - 1, time = sizeof V2_TIME - 1;
    static const size_t seq = sizeof V2_SEQ - 1, fixed = tail + TIME_LEN + time;
    if (frame.len < fixed || memcmp(frame.data + frame.len - tail, V2_TAIL, tail) != 0 ||
        memcmp(frame.data + frame.len - fixed, V2_TIME, time) != 0 ||
        !timestamp_parse(bytes_make(frame.data + frame.len - tail - TIME_LEN, TIME_LEN),
                         &peek->time_us) ||
        peek->time_us <= 0)
        return false;
    const char *end = frame.data + frame.len - fixed, *at = end;
    while (at > frame.data && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return (size_t)(at - frame.data) >= seq && memcmp(at - seq, V2_SEQ, seq) == 0 &&
           positive(bytes_make(at, (size_t)(end - at)), &peek->seq);
}

static bool peek_v2(struct bytes frame, struct bytes rest, struct jetstream_peek *peek)
{
    struct bytes ignored;
    if (skip(&rest, "\"cid\":\"") && !take_plain(&rest, &ignored))
        return false;
    if (!skip(&rest, "\"collection\":\"") || !take_plain(&rest, &ignored))
        return false;
    return skip(&rest, "\"did\":\"") && take_plain(&rest, &peek->did) && take_tail(frame, peek);
}

bool jetstream_peek(struct bytes frame, struct jetstream_peek *peek)
{
    struct bytes rest = frame;
    *peek = (struct jetstream_peek){0};
    if (skip(&rest, V1_HEAD))
        return peek_v1(rest, peek) && bytes_starts_with(peek->did, "did:");
    return skip(&rest, V2_HEAD) && peek_v2(frame, rest, peek) &&
           bytes_starts_with(peek->did, "did:");
}
