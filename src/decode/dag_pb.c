/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/dag_pb.h"

#include "decode/protobuf.h"

enum { NODE_DATA = 1, NODE_LINK = 2 };
enum { LINK_HASH = 1, LINK_NAME = 2, LINK_SIZE = 3 };

static enum rc read_link(struct bytes message, struct dag_pb_link *link, struct err *err)
{
    struct protobuf_field field;
    bool hashed = false;
    enum rc rc;
    link->name = BYTES_ABSENT;
    while ((rc = protobuf_next(&message, &field)) == RC_OK) {
        if (field.number == LINK_HASH && field.is_bytes && !hashed) {
            rc = cid_parse_binary(field.bytes, &link->cid, err);
            if (rc != RC_OK)
                return err_wrap(err, rc, "a link of the block");
            hashed = true;
        } else if (field.number == LINK_NAME && field.is_bytes && link->name.data == NULL) {
            link->name = field.bytes;
        } else if (field.number != LINK_SIZE || field.is_bytes) {
            return err_set(err, RC_REJECT, "a link of the block has a field %u nobody knows",
                           field.number);
        }
    }
    if (rc != RC_AGAIN || !hashed)
        return err_set(err, RC_REJECT, "a link of the block leads nowhere");
    return RC_OK;
}

enum rc dag_pb_open(struct bytes block, struct dag_pb *node, struct err *err)
{
    struct bytes rest = block;
    struct protobuf_field field;
    struct dag_pb_link link;
    enum rc rc;
    *node = (struct dag_pb){.block = block, .data = BYTES_ABSENT};
    while ((rc = protobuf_next(&rest, &field)) == RC_OK) {
        if (field.number == NODE_DATA && field.is_bytes && node->data.data == NULL) {
            node->data = field.bytes;
        } else if (field.number == NODE_LINK && field.is_bytes) {
            rc = read_link(field.bytes, &link, err);
            if (rc != RC_OK)
                return rc;
            node->link_count++;
        } else {
            return err_set(err, RC_REJECT, "the block has a field %u that dag-pb has not",
                           field.number);
        }
    }
    return rc == RC_AGAIN ? RC_OK : err_set(err, RC_REJECT, "the block is no dag-pb");
}

bool dag_pb_next_link(struct bytes *rest, struct dag_pb_link *link)
{
    struct protobuf_field field;
    while (protobuf_next(rest, &field) == RC_OK)
        if (field.number == NODE_LINK)
            return read_link(field.bytes, link, NULL) == RC_OK;
    return false;
}
