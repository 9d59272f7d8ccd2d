/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/evm_event.h"

#include "decode/cid.h"
#include "decode/ipfs_uri.h"
#include "decode/keccak.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define WORD       32
#define SPACE_SIZE 16

static bool is_array_or_tuple(struct bytes types)
{
    return memchr(types.data, '[', types.len) != NULL || memchr(types.data, '(', types.len) != NULL;
}

static enum rc read_types(struct bytes types, struct evm_event *event, struct err *err)
{
    event->searched = is_array_or_tuple(types);
    while (!event->searched && types.len > 0) {
        const char *comma = memchr(types.data, ',', types.len);
        size_t len = comma == NULL ? types.len : (size_t)(comma - types.data);
        struct bytes type = bytes_make(types.data, len);
        size_t past = comma == NULL ? len : len + 1;
        types = bytes_make(types.data + past, types.len - past);
        if (type.len == 0 || event->param_count == EVM_EVENT_PARAMS_MAX)
            return err_set(err, RC_REJECT, "a signature has up to %d types, none of them empty",
                           EVM_EVENT_PARAMS_MAX);
        event->params[event->param_count++] = bytes_equal_string(type, "string")  ? EVM_PARAM_STRING
                                              : bytes_equal_string(type, "bytes") ? EVM_PARAM_BYTES
                                                                                  : EVM_PARAM_WORD;
    }
    return RC_OK;
}

static enum rc read_signature(struct bytes text, struct evm_event *event, struct err *err)
{
    const char *open = text.len == 0 ? NULL : memchr(text.data, '(', text.len);
    if (open == NULL || open == text.data || text.data[text.len - 1] != ')')
        return err_set(err, RC_REJECT, "an event is `any`, `action` or NAME(types)");
    event->kind = EVM_EVENT_ABI;
    keccak_256(text, event->topic.bytes);
    size_t before = (size_t)(open - text.data) + 1;
    return read_types(bytes_make(open + 1, text.len - before - 1), event, err);
}

enum rc evm_event_parse(struct bytes text, struct bytes contract, struct evm_event *out,
                        struct err *err)
{
    *out = (struct evm_event){.kind = EVM_EVENT_ANY, .searched = true};
    if (!evm_bytes(contract, out->address, EVM_ADDRESS_SIZE))
        return err_set(err, RC_REJECT, "a contract's address is 0x and 40 hexadecimal digits");
    if (bytes_equal_string(text, "any"))
        return RC_OK;
    if (!bytes_equal_string(text, "action"))
        return read_signature(text, out, err);
    out->kind = EVM_EVENT_ACTION;
    return RC_OK;
}

bool evm_event_matches(const struct evm_event *event, const struct evm_log *log)
{
    if (memcmp(event->address, log->address, EVM_ADDRESS_SIZE) != 0)
        return false;
    switch (event->kind) {
    case EVM_EVENT_ABI:
        return log->topic_count > 0 && evm_hash_equal(&log->topics[0], &event->topic);
    case EVM_EVENT_ACTION:
        return log->topic_count == EVM_TOPICS_MAX;
    case EVM_EVENT_ANY:
        break;
    }
    return true;
}

bool evm_event_in_bloom(const struct evm_event *event, const uint8_t bloom[EVM_BLOOM_SIZE])
{
    return evm_bloom_may_have(bloom, bytes_make(event->address, EVM_ADDRESS_SIZE)) &&
           (event->kind != EVM_EVENT_ABI ||
            evm_bloom_may_have(bloom, bytes_make(event->topic.bytes, EVM_HASH_SIZE)));
}

static void search(struct bytes data, evm_name_fn *fn, void *arg)
{
    struct bytes name;
    while (ipfs_uri_next(&data, &name))
        fn(arg, name);
}

/* A word as an offset or a length; anything of more than 32 bits is beyond every log. */
static bool read_word(struct bytes data, size_t at, size_t *value)
{
    if (data.len < WORD || at > data.len - WORD)
        return false;
    *value = 0;
    for (size_t i = 0; i < WORD; i++) {
        uint8_t byte = (uint8_t)data.data[at + i];
        if (i < WORD - 4 && byte != 0)
            return false;
        *value = *value << 8 | byte;
    }
    return true;
}

/* The bytes of a string or of `bytes`, by its word in the head. */
static bool read_string(struct bytes data, size_t at, size_t *offset, struct bytes *out)
{
    size_t len;
    if (!read_word(data, at, offset) || !read_word(data, *offset, &len) ||
        len > data.len - *offset - WORD)
        return false;
    *out = bytes_make(data.data + *offset + WORD, len);
    return true;
}

/* What a string or `bytes` names: the addresses in it, or itself. Others name nothing. */
static void name_string(struct bytes string, evm_name_fn *fn, void *arg)
{
    struct bytes rest = string, name;
    while (string.len > 0 && string.data[string.len - 1] == '\0')
        string.len--;
    if (ipfs_uri_next(&rest, &name))
        search(string, fn, arg);
    else if (ipfs_uri_bare(string, &name))
        fn(arg, name);
}

/* Which parameters travel as topics, a bit for each. Nothing in a log says so: every choice of as
 * many as there are is tried. */
struct layout {
    uint32_t topics;
    unsigned topic_count;
    bool exact; /* as compilers lay it out: part behind part, nothing between and behind them */
};

/* Walks the parameters that are in the data, first to check (`fn` NULL), then to tell. False: the
 * data is laid out in another way. */
static bool walk_params(const struct evm_event *event, const struct layout *layout,
                        struct bytes data, evm_name_fn *fn, void *arg)
{
    size_t head = WORD * (size_t)(event->param_count - layout->topic_count), end = head;
    size_t at = 0, offset;
    for (unsigned i = 0; i < event->param_count; i++) {
        struct bytes string;
        if ((layout->topics >> i & 1) != 0)
            continue;
        at += WORD;
        if (event->params[i] == EVM_PARAM_WORD)
            continue;
        if (!read_string(data, at - WORD, &offset, &string) || offset < head ||
            (layout->exact && offset != end))
            return false;
        end = offset + WORD + (string.len + WORD - 1) / WORD * WORD;
        if (fn != NULL)
            name_string(string, fn, arg);
    }
    return layout->exact ? end == data.len : head <= data.len;
}

static unsigned count_bits(uint32_t bits)
{
    unsigned count = 0;
    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

/* Adds parameters from `from` on to the topics until there are enough. */
static bool choose_topics(const struct evm_event *event, struct layout *layout, unsigned from,
                          struct bytes data)
{
    uint32_t chosen = layout->topics;
    if (count_bits(chosen) == layout->topic_count)
        return walk_params(event, layout, data, NULL, NULL);
    for (unsigned i = from; i < event->param_count; i++) {
        layout->topics = chosen | UINT32_C(1) << i;
        if (choose_topics(event, layout, i + 1, data))
            return true;
    }
    layout->topics = chosen;
    return false;
}

static bool find_layout(const struct evm_event *event, unsigned topic_count, bool exact,
                        struct bytes data, struct layout *layout)
{
    *layout = (struct layout){.topic_count = topic_count, .exact = exact};
    return !event->searched && topic_count <= event->param_count &&
           choose_topics(event, layout, 0, data);
}

void evm_event_names(const struct evm_event *event, const struct evm_log *log, struct text *scratch,
                     evm_name_fn *fn, void *arg)
{
    struct layout layout;
    struct bytes name;
    unsigned topic_count = log->topic_count - 1; /* of `any` it is not used */
    assert(evm_event_matches(event, log));
    text_clear(scratch);
    evm_log_data(log, scratch);
    struct bytes data = bytes_make(text_string(scratch), scratch->len), rest = data;
    if (find_layout(event, topic_count, true, data, &layout))
        walk_params(event, &layout, data, fn, arg);
    else if (ipfs_uri_next(&rest, &name))
        search(data, fn, arg); /* whatever the data is, these are addresses */
    else if (find_layout(event, topic_count, false, data, &layout))
        walk_params(event, &layout, data, fn, arg);
}

bool evm_event_space(const struct evm_event *event, const struct evm_log *log,
                     char out[EVM_SPACE_TEXT_SIZE])
{
    char *end = out;
    if (event->kind != EVM_EVENT_ACTION || log->topic_count == 0)
        return false;
    for (size_t i = 0; i < SPACE_SIZE; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        end += snprintf(end, 4, dash ? "-%02x" : "%02x", log->topics[0].bytes[i]);
    }
    return true;
}
