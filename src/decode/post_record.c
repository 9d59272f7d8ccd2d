/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/post_record.h"

#include "base/timestamp.h"
#include "decode/at_uri.h"
#include "decode/post_facets.h"
#include "decode/post_links.h"

#include <assert.h>
#include <string.h>

#define SUBJECT_MAX 4096
#define CID_MAX     256

#define THUMB_BEGIN "https://cdn.bsky.app/img/feed_thumbnail/plain/"
#define THUMB_END   "@jpeg"

/* The field becomes bytes that lie in the batch already. */
static void set_kept(struct record *record, unsigned field, struct bytes kept)
{
    record->fields[field] = field_text(kept);
}

static void set_subject(struct record *record, struct bytes uri)
{
    struct at_uri parts;
    set_kept(record, POST_SUBJECT, uri);
    if (!at_uri_parse(uri, &parts) || !bytes_equal_string(parts.collection, AT_POST))
        return;
    set_kept(record, POST_SUBJECT_DID, parts.did);
    set_kept(record, POST_SUBJECT_COLLECTION, parts.collection);
    set_kept(record, POST_SUBJECT_RKEY, parts.rkey);
}

/* {"uri":…,"cid":…} of what is reposted or quoted, also beside a picture or a card. */
static struct bytes subject_cid(const struct post_input *post)
{
    struct json ref = json_get(post->body, "subject");
    if (post->kind != POST_KIND_REPOST) {
        ref = json_get(json_get(post->body, "embed"), "record");
        struct json nested = json_get(ref, "record");
        if (json_type(nested) == JSON_OBJECT)
            ref = nested;
    }
    struct bytes cid = json_string_or_absent(json_get(ref, "cid"));
    return cid.len > CID_MAX ? BYTES_ABSENT : cid;
}

/* What it says about its own text. */
static bool set_facets(struct batch *batch, struct record *record, struct json body)
{
    struct post_facets facets;
    if (!post_facets_read(body, &batch->arena, &facets))
        return false;
    set_kept(record, POST_LANGS, facets.langs);
    set_kept(record, POST_TAGS, facets.tags);
    set_kept(record, POST_FACETS, facets.facets);
    return true;
}

/* What the account wrote, but for the links. */
static bool set_body(struct batch *batch, struct record *record, const struct post_input *post,
                     struct bytes quote)
{
    int64_t created_us;
    struct bytes created = json_string_or_absent(json_get(post->body, "createdAt"));
    if (created.data != NULL && timestamp_parse(created, &created_us))
        batch_set_int(record, POST_CREATED_US, created_us);
    if (!batch_set_text(batch, record, POST_SUBJECT_CID, subject_cid(post)))
        return false;
    if (post->kind != POST_KIND_REPOST) {
        set_subject(record, quote);
        return batch_set_text(batch, record, POST_TEXT,
                              json_string_or_absent(json_get(post->body, "text"))) &&
               set_facets(batch, record, post->body);
    }
    struct bytes uri = post->subject;
    if (uri.data == NULL)
        uri = json_string_or_absent(json_get(json_get(post->body, "subject"), "uri"));
    struct bytes kept = arena_copy(&batch->arena, uri.len > SUBJECT_MAX ? BYTES_ABSENT : uri);
    set_subject(record, kept);
    return kept.data != NULL || uri.data == NULL || uri.len > SUBJECT_MAX;
}

static struct record *add_post(struct batch *batch, const struct post_input *post,
                               struct bytes quote)
{
    struct record *record = batch_add(batch, RECORD_POST);
    if (record == NULL || !batch_set_text(batch, record, POST_DID, post->did) ||
        !batch_set_text(batch, record, POST_COLLECTION, post->collection) ||
        !batch_set_text(batch, record, POST_RKEY, post->rkey) ||
        !batch_set_text(batch, record, POST_REV, post->rev) ||
        !batch_set_text(batch, record, POST_CID, post->cid) ||
        (post->op == POST_OP_PUT && !set_body(batch, record, post, quote)))
        return NULL;
    batch_set_int(record, POST_OP, post->op);
    batch_set_int(record, POST_KIND, post->kind);
    batch_set_int(record, POST_SHARED_US,
                  post->shared_us < post->now_us ? post->shared_us : post->now_us);
    if (post->rev.data == NULL || post->unseen)
        batch_set_int(record, POST_ASOF_SEQ, post->asof_seq);
    if (post->fresh)
        batch_set_int(record, POST_FRESH, 1);
    return record;
}

/* Where the picture of a card is shown in a reader's size. */
static bool set_image(struct batch *batch, struct record *record, struct bytes did,
                      struct bytes thumb)
{
    if (thumb.data == NULL)
        return true;
    const struct bytes parts[] = {bytes_of(THUMB_BEGIN), did, bytes_of("/"), thumb,
                                  bytes_of(THUMB_END)};
    size_t len = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        len += parts[i].len;
    char *room = arena_take(&batch->arena, len);
    if (room == NULL)
        return false;
    set_kept(record, LINK_IMAGE_URL, bytes_make(room, len));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; room += parts[i++].len)
        memcpy(room, parts[i].data, parts[i].len);
    return true;
}

static bool add_link(struct batch *batch, const struct record *post, const struct post_link *link)
{
    struct record *record = batch_add(batch, RECORD_LINK);
    if (record == NULL)
        return false;
    record->fields[LINK_DID] = post->fields[POST_DID];
    record->fields[LINK_COLLECTION] = post->fields[POST_COLLECTION];
    record->fields[LINK_RKEY] = post->fields[POST_RKEY];
    record->fields[LINK_REV] = post->fields[POST_REV];
    set_kept(record, LINK_URL, link->normalized);
    set_kept(record, LINK_READER_URL, link->reader);
    set_kept(record, LINK_DOMAIN, link->domain);
    batch_set_int(record, LINK_FLAGS, link->flags);
    set_kept(record, LINK_TITLE, link->title);
    set_kept(record, LINK_DESCRIPTION, link->description);
    return set_image(batch, record, post->fields[POST_DID].b, link->thumb);
}

static bool add_all(const struct post_input *post, struct batch *batch, struct post_output *out)
{
    struct post_links links; /* large: only what is read is set */
    post_links_clear(&links);
    bool carries = post->op == POST_OP_PUT && post->kind != POST_KIND_REPOST;
    if (carries && post_links_read(post->body, &batch->arena, &links) != RC_OK)
        return false;
    struct record *record = add_post(batch, post, links.quote);
    for (size_t i = 0; record != NULL && i < links.count; i++)
        if (!add_link(batch, record, &links.links[i]))
            return false;
    out->records = (unsigned)(1 + links.count);
    out->left_out = (unsigned)(links.left_out + links.refused);
    return record != NULL;
}

enum rc post_record_add(const struct post_input *post, struct batch *batch, struct post_output *out)
{
    assert(post->did.len > 0 && post->collection.len > 0 && post->rkey.len > 0);
    struct batch_mark mark = batch_mark(batch);
    if (add_all(post, batch, out))
        return RC_OK;
    batch_undo(batch, mark);
    *out = (struct post_output){0};
    return RC_AGAIN;
}
