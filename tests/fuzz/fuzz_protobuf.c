/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a protobuf message: every field that is read can be written anew as the very bytes
 * it was cut from, and what is refused begins with no field. The same bytes as a block of links,
 * and as a link's address in binary. */
#include "decode/dag_pb.h"
#include "decode/protobuf.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_varint(struct text *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        text_append_char(out, (char)(value | 0x80));
    text_append_char(out, (char)value);
}

/* The field as the wire type `type` has it; false: it cannot. */
static bool put_field(struct text *out, const struct protobuf_field *field, unsigned type)
{
    text_clear(out);
    put_varint(out, (uint64_t)field->number << 3 | type);
    if (type == 0)
        put_varint(out, field->value);
    for (unsigned i = 0; i < (type == 1 ? 8u : type == 5 ? 4u : 0u); i++)
        text_append_char(out, (char)(field->value >> (8 * i)));
    if (type == 2) {
        put_varint(out, field->bytes.len);
        text_append(out, field->bytes.data, field->bytes.len);
    }
    return type == 2 ? field->is_bytes : !field->is_bytes && (type <= 1 || type == 5);
}

static void check_fields(struct bytes message)
{
    struct text again = {0};
    struct protobuf_field field;
    enum rc rc = RC_OK;
    while (rc == RC_OK) {
        struct bytes rest = message;
        rc = protobuf_next(&rest, &field);
        if (rc != RC_OK)
            break;
        assert(rest.len < message.len && rest.data + rest.len == message.data + message.len);
        struct bytes cut = bytes_make(message.data, message.len - rest.len);
        bool same = put_field(&again, &field, (unsigned char)cut.data[0] & 7);
        assert(same && bytes_equal(cut, text_bytes(&again)));
        message = rest;
    }
    assert(rc == (message.len == 0 ? RC_AGAIN : RC_REJECT));
    text_free(&again);
}

static void check_block(struct bytes block)
{
    struct dag_pb node;
    struct dag_pb_link link;
    struct err err = {""};
    size_t links = 0;
    if (dag_pb_open(block, &node, &err) != RC_OK) {
        assert(err.text[0] != '\0');
        return;
    }
    const char *end = block.data + block.len;
    assert(node.data.data == NULL ||
           (node.data.data >= block.data && node.data.data + node.data.len <= end));
    for (struct bytes rest = node.block; dag_pb_next_link(&rest, &link); links++)
        assert(link.name.data == NULL ||
               (link.name.data >= block.data && link.name.data + link.name.len <= end));
    assert(links == node.link_count);
}

static void check_address(struct bytes binary)
{
    struct cid cid, again;
    struct err err = {""};
    char text[CID_TEXT_SIZE];
    if (cid_parse_binary(binary, &cid, &err) != RC_OK) {
        assert(err.text[0] != '\0');
        return;
    }
    cid_format(&cid, text);
    enum rc rc = cid_parse(bytes_of(text), &again, &err);
    assert(rc == RC_OK && cid_equal(&cid, &again));
    assert(memcmp(cid.digest, binary.data + binary.len - DIGEST_SIZE, DIGEST_SIZE) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = bytes_make(data, size);
    check_fields(input);
    check_block(input);
    check_address(input);
    return 0;
}
