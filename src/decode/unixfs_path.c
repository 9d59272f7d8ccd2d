/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/unixfs_path.h"

#include "decode/dag_pb.h"
#include "decode/protobuf.h"
#include "decode/unixfs.h"
#include "decode/url_text.h"

#include <assert.h>
#include <string.h>

#define TYPE_UNKNOWN UINT64_MAX

/* The next name as it stands in the path, and what is left behind its slash. */
static struct bytes cut_name(struct bytes *path)
{
    const char *slash = memchr(path->data, '/', path->len);
    size_t len = slash == NULL ? path->len : (size_t)(slash - path->data);
    struct bytes name = bytes_make(path->data, len);
    size_t passed = len + (slash != NULL);
    *path = bytes_make(path->data + passed, path->len - passed);
    return name;
}

static uint64_t type_of(const struct dag_pb *node)
{
    struct bytes rest = node->data;
    struct protobuf_field field;
    while (protobuf_next(&rest, &field) == RC_OK)
        if (field.number == UNIXFS_FIELD_TYPE && !field.is_bytes)
            return field.value;
    return TYPE_UNKNOWN;
}

static enum rc open_directory(const struct cid *cid, struct bytes block, struct bytes name,
                              struct dag_pb *node, struct err *err)
{
    uint64_t type = UNIXFS_FILE;
    if (cid->codec == CID_DAG_PB) {
        enum rc rc = dag_pb_open(block, node, err);
        if (rc != RC_OK)
            return rc;
        type = type_of(node);
    }
    if (type == UNIXFS_SHARDS)
        return err_set(err, RC_REJECT, "`%.*s` lies in a sharded directory: those are not read",
                       (int)name.len, name.data);
    if (type != UNIXFS_DIRECTORY)
        return err_set(err, RC_REJECT, "%s where a directory with `%.*s` should be",
                       unixfs_type_words(type), (int)name.len, name.data);
    return RC_OK;
}

enum rc unixfs_path_step(const struct cid *directory, struct bytes block, struct bytes *path,
                         struct cid *next, struct err *err)
{
    char room[UNIXFS_NAME_MAX];
    struct url_text wanted = url_text_over(room, sizeof room);
    struct dag_pb node;
    struct dag_pb_link link;
    assert(path->len > 0);
    struct bytes name = cut_name(path);
    url_text_put_unescaped(&wanted, name, false);
    if (wanted.full)
        return err_set(err, RC_REJECT, "the path has a name of more than %d bytes",
                       UNIXFS_NAME_MAX);
    enum rc rc = open_directory(directory, block, name, &node, err);
    if (rc != RC_OK)
        return rc;
    struct bytes rest = node.block;
    while (dag_pb_next_link(&rest, &link))
        if (bytes_equal(link.name, url_text_bytes(&wanted))) {
            *next = link.cid;
            return RC_OK;
        }
    return err_set(err, RC_REJECT, "the directory has no `%.*s`", (int)name.len, name.data);
}
