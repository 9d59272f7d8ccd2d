/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/evm_block.h"

#include "decode/keccak.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define QUANTITY_DIGITS_MAX 16
#define BLOOM_BITS          3 /* a name sets so many */

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* What stands behind "0x"; absent when that is not there, or something that is no digit. */
static struct bytes digits_of(struct bytes text)
{
    if (!bytes_starts_with(text, "0x"))
        return BYTES_ABSENT;
    for (size_t i = 2; i < text.len; i++)
        if (digit_value(text.data[i]) < 0)
            return BYTES_ABSENT;
    return bytes_make(text.data + 2, text.len - 2);
}

bool evm_quantity(struct bytes text, uint64_t *value)
{
    struct bytes digits = digits_of(text);
    uint64_t sum = 0;
    if (digits.len == 0 || digits.len > QUANTITY_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < digits.len; i++)
        sum = sum << 4 | (uint64_t)digit_value(digits.data[i]);
    *value = sum;
    return true;
}

static uint8_t byte_at(struct bytes digits, size_t at)
{
    unsigned high = (unsigned)digit_value(digits.data[2 * at]);
    return (uint8_t)(high << 4 | (unsigned)digit_value(digits.data[2 * at + 1]));
}

bool evm_bytes(struct bytes text, uint8_t *out, size_t size)
{
    struct bytes digits = digits_of(text);
    if (digits.data == NULL || digits.len != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++)
        out[i] = byte_at(digits, i);
    return true;
}

static bool read_bytes(struct json object, const char *key, uint8_t *out, size_t size)
{
    return evm_bytes(json_string_or_absent(json_get(object, key)), out, size);
}

static bool read_quantity(struct json object, const char *key, uint64_t *out)
{
    return evm_quantity(json_string_or_absent(json_get(object, key)), out);
}

static enum rc refuse(const char *what, const char *key, struct err *err)
{
    return err_set(err, RC_REJECT, "%s has no usable '%s'", what, key);
}

enum rc evm_block_read(struct json value, struct evm_block *block, struct err *err)
{
    static const char what[] = "the node's block";
    if (!read_quantity(value, "number", &block->number))
        return refuse(what, "number", err);
    if (!read_bytes(value, "hash", block->hash.bytes, EVM_HASH_SIZE))
        return refuse(what, "hash", err);
    if (!read_bytes(value, "parentHash", block->parent.bytes, EVM_HASH_SIZE))
        return refuse(what, "parentHash", err);
    if (!read_quantity(value, "timestamp", &block->time_s))
        return refuse(what, "timestamp", err);
    block->has_bloom = json_type(json_get(value, "logsBloom")) == JSON_STRING;
    if (block->has_bloom && !read_bytes(value, "logsBloom", block->bloom, EVM_BLOOM_SIZE))
        return refuse(what, "logsBloom", err);
    return RC_OK;
}

static bool read_topics(struct json value, struct evm_log *log)
{
    struct json_walk walk = json_walk(value);
    struct bytes key;
    struct json topic;
    log->topic_count = 0;
    while (json_walk_next(&walk, &key, &topic)) {
        if (log->topic_count == EVM_TOPICS_MAX ||
            !evm_bytes(json_string_or_absent(topic), log->topics[log->topic_count].bytes,
                       EVM_HASH_SIZE))
            return false;
        log->topic_count++;
    }
    return json_type(value) == JSON_ARRAY;
}

enum rc evm_log_read(struct json value, struct evm_log *log, struct err *err)
{
    static const char what[] = "the node's log";
    if (!read_quantity(value, "blockNumber", &log->block_number))
        return refuse(what, "blockNumber", err);
    if (!read_bytes(value, "blockHash", log->block_hash.bytes, EVM_HASH_SIZE))
        return refuse(what, "blockHash", err);
    if (!read_quantity(value, "logIndex", &log->index))
        return refuse(what, "logIndex", err);
    if (!read_bytes(value, "address", log->address, EVM_ADDRESS_SIZE))
        return refuse(what, "address", err);
    if (!read_topics(json_get(value, "topics"), log))
        return refuse(what, "topics", err);
    log->data_hex = digits_of(json_string_or_absent(json_get(value, "data")));
    if (log->data_hex.data == NULL || log->data_hex.len % 2 != 0)
        return refuse(what, "data", err);
    log->removed = false;
    struct json removed = json_get(value, "removed");
    if (json_type(removed) != JSON_ABSENT && !json_bool(removed, &log->removed))
        return refuse(what, "removed", err);
    return RC_OK;
}

void evm_log_data(const struct evm_log *log, struct text *out)
{
    size_t len = log->data_hex.len / 2;
    char *end = text_reserve(out, len);
    for (size_t i = 0; i < len; i++)
        end[i] = (char)byte_at(log->data_hex, i);
    end[len] = '\0';
    out->len += len;
}

bool evm_bloom_may_have(const uint8_t bloom[EVM_BLOOM_SIZE], struct bytes name)
{
    uint8_t hash[KECCAK_SIZE];
    keccak_256(name, hash);
    for (unsigned i = 0; i < BLOOM_BITS; i++) {
        unsigned bit = ((unsigned)hash[2 * i] << 8 | hash[2 * i + 1]) % (EVM_BLOOM_SIZE * 8);
        if ((bloom[EVM_BLOOM_SIZE - 1 - bit / 8] >> bit % 8 & 1) == 0)
            return false;
    }
    return true;
}

bool evm_hash_equal(const struct evm_hash *a, const struct evm_hash *b)
{
    return memcmp(a->bytes, b->bytes, EVM_HASH_SIZE) == 0;
}

void evm_hash_format(const struct evm_hash *hash, char out[EVM_HASH_TEXT_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    char *end = out;
    *end++ = '0';
    *end++ = 'x';
    for (size_t i = 0; i < EVM_HASH_SIZE; i++) {
        *end++ = digits[hash->bytes[i] >> 4];
        *end++ = digits[hash->bytes[i] & 15];
    }
    *end = '\0';
}
