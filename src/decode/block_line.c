/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/block_line.h"

#include "decode/ipfs_uri.h"

#include <stdio.h>
#include <string.h>

/* What a hash may be written with: it stands in other texts, too. */
static bool is_plain(struct bytes word)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "+/=_.:-";
    for (size_t i = 0; i < word.len; i++)
        if (memchr(letters, word.data[i], sizeof letters - 1) == NULL)
            return false;
    return true;
}

static bool is_there(struct json value)
{
    return json_type(value) != JSON_ABSENT && json_type(value) != JSON_NULL;
}

static enum rc read_hash(struct json root, const char *key, struct bytes *out, struct err *err)
{
    struct json value = json_get(root, key);
    *out = BYTES_ABSENT;
    if (!is_there(value))
        return RC_OK;
    if (!json_string(value, out) || out->len == 0 || out->len > BLOCK_LINE_HASH_MAX ||
        !is_plain(*out))
        return err_set(err, RC_REJECT, "`%s` is no hash: letters and digits, %d at most", key,
                       BLOCK_LINE_HASH_MAX);
    return RC_OK;
}

static enum rc read_cursor(struct json root, struct bytes *out, struct err *err)
{
    if (!json_string(json_get(root, "cursor"), out) || out->len == 0)
        return err_set(err, RC_REJECT, "`cursor` is missing: a string that is not empty");
    if (out->len > BLOCK_LINE_CURSOR_MAX)
        return err_set(err, RC_REJECT, "`cursor` has more than %d bytes", BLOCK_LINE_CURSOR_MAX);
    return RC_OK;
}

static bool read_name(struct json uri, struct bytes *name)
{
    static const size_t scheme = sizeof IPFS_URI_SCHEME - 1;
    if (!json_string(uri, name) || !bytes_starts_with(*name, IPFS_URI_SCHEME))
        return false;
    *name = bytes_make(name->data + scheme, name->len - scheme);
    return name->len > 0 && name->len <= IPFS_URI_NAME_MAX;
}

static bool read_uri(struct json value, struct bytes *name, struct bytes *space)
{
    *space = BYTES_ABSENT;
    if (json_type(value) != JSON_OBJECT)
        return read_name(value, name);
    struct json said = json_get(value, "space");
    if (is_there(said) && (!json_string(said, space) || space->len > BLOCK_LINE_SPACE_MAX))
        return false;
    return read_name(json_get(value, "uri"), name);
}

bool block_line_next(struct json_walk *walk, struct bytes *name, struct bytes *space)
{
    struct bytes key;
    struct json value;
    while (json_walk_next(walk, &key, &value))
        if (read_uri(value, name, space))
            return true;
    return false;
}

static enum rc check_uris(struct block_line *line, struct err *err)
{
    struct json_walk walk = json_walk(line->uris);
    struct bytes key, name, space;
    struct json value;
    if (is_there(line->uris) && json_type(line->uris) != JSON_ARRAY)
        return err_set(err, RC_REJECT, "`uris` is no list");
    for (size_t i = 0; json_walk_next(&walk, &key, &value); i++)
        if (!read_uri(value, &name, &space) && line->unusable++ == 0)
            line->first_unusable = i;
    return RC_OK;
}

void block_line_explain(const struct block_line *line, struct err *err)
{
    char more[32] = "";
    if (line->unusable > 1)
        snprintf(more, sizeof more, " and %zu more", line->unusable - 1);
    err_set(err, RC_REJECT,
            "`uris[%zu]`%s: no ipfs:// address of at most %d letters, nor an object of `uri` and "
            "`space`",
            line->first_unusable, more, IPFS_URI_NAME_MAX);
}

enum rc block_line_read(struct json root, struct block_line *line, struct err *err)
{
    struct json undo = json_get(root, "undo");
    *line = (struct block_line){.uris = json_get(root, "uris")};
    if (json_type(root) != JSON_OBJECT)
        return err_set(err, RC_REJECT, "no JSON object");
    if (!json_u64(json_get(root, "number"), &line->number) || line->number > INT64_MAX)
        return err_set(err, RC_REJECT, "`number` is missing: the number of a block");
    if (is_there(undo) && !json_bool(undo, &line->undo))
        return err_set(err, RC_REJECT, "`undo` is neither true nor false");
    enum rc rc = read_cursor(root, &line->cursor, err);
    if (rc == RC_OK)
        rc = read_hash(root, "hash", &line->hash, err);
    if (rc == RC_OK)
        rc = read_hash(root, "parent", &line->parent, err);
    if (rc == RC_OK)
        rc = check_uris(line, err);
    if (rc == RC_OK && line->undo && json_count(line->uris) > 0)
        rc = err_set(err, RC_REJECT, "an undo names no `uris`: it takes blocks back");
    return rc;
}
