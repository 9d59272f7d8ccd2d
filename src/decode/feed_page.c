/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/feed_page.h"

#include "base/timestamp.h"
#include "decode/post_record.h"

#include <assert.h>

#define REASON_REPOST "app.bsky.feed.defs#reasonRepost"
#define REASON_PIN    "app.bsky.feed.defs#reasonPin"
#define CID_MAX       128

/* ---- the page ---- */

enum rc feed_page_read(struct json root, struct feed_page *page, struct err *err)
{
    struct json token = json_get(root, "cursor");
    *page = (struct feed_page){.items = json_get(root, "feed")};
    if (json_type(page->items) != JSON_ARRAY)
        return err_set(err, RC_REJECT, "the answer has no list \"feed\"");
    if (json_type(token) == JSON_ABSENT || json_type(token) == JSON_NULL)
        return RC_OK;
    if (!json_string(token, &page->token) || page->token.len > FEED_TOKEN_MAX)
        return err_set(err, RC_REJECT, "\"cursor\" is no string of at most %d bytes",
                       FEED_TOKEN_MAX);
    if (page->token.len == 0)
        page->token = BYTES_ABSENT;
    return RC_OK;
}

/* ---- one item ---- */

static enum rc read_time(struct json object, const char *key, int64_t *us, struct err *err)
{
    struct bytes text = json_string_or_absent(json_get(object, key));
    if (text.data == NULL || !timestamp_parse(text, us) || *us <= 0)
        return err_set(err, RC_REJECT, "\"%s\" is no time after 1970", key);
    return RC_OK;
}

/* Address and CID of a record that the AppView shows. */
static enum rc read_name(struct json view, const char *collection, struct bytes *uri,
                         struct at_uri *name, struct bytes *cid, struct err *err)
{
    *uri = json_string_or_absent(json_get(view, "uri"));
    *cid = json_string_or_absent(json_get(view, "cid"));
    if (uri->data == NULL || !at_uri_parse(*uri, name) ||
        !bytes_equal_string(name->collection, collection))
        return err_set(err, RC_REJECT, "\"uri\" is no address of an %s", collection);
    if (cid->len == 0 || cid->len > CID_MAX)
        return err_set(err, RC_REJECT, "there is no usable \"cid\"");
    return RC_OK;
}

static enum rc read_reason(struct json reason, struct feed_item *out, struct err *err)
{
    struct bytes type = json_string_or_absent(json_get(reason, "$type"));
    if (bytes_equal_string(type, REASON_PIN)) {
        out->kind = FEED_PIN;
        return RC_OK;
    }
    if (!bytes_equal_string(type, REASON_REPOST))
        return err_set(err, RC_REJECT, "\"reason\" is neither a repost nor a pin");
    out->kind = FEED_REPOST;
    enum rc rc = read_name(reason, AT_REPOST, &out->uri, &out->name, &out->cid, err);
    if (rc == RC_OK)
        rc = read_time(reason, "indexedAt", &out->seen_us, err);
    out->sort_us = out->seen_us;
    struct bytes by = json_string_or_absent(json_get(json_get(reason, "by"), "did"));
    if (rc == RC_OK && !bytes_equal(by, out->name.did))
        rc = err_set(err, RC_REJECT, "the repost is not in the repository of whom it is by");
    return rc;
}

static enum rc read_post(struct feed_item *out, struct err *err)
{
    int64_t created_us;
    enum rc rc = read_time(out->post, "indexedAt", &out->seen_us, err);
    if (rc != RC_OK)
        return rc;
    struct bytes created = json_string_or_absent(json_pointer(out->post, "/record/createdAt"));
    out->sort_us = out->seen_us;
    if (created.data != NULL && timestamp_parse(created, &created_us) && created_us < out->seen_us)
        out->sort_us = created_us;
    return RC_OK;
}

enum rc feed_item_read(struct json item, struct bytes did, struct feed_item *out, struct err *err)
{
    struct json reason = json_get(item, "reason");
    *out = (struct feed_item){.kind = FEED_POST, .post = json_get(item, "post")};
    enum rc rc = read_name(out->post, AT_POST, &out->uri, &out->name, &out->cid, err);
    if (rc == RC_OK && json_type(json_get(out->post, "record")) != JSON_OBJECT)
        rc = err_set(err, RC_REJECT, "the post has no \"record\"");
    if (rc == RC_OK && json_type(reason) != JSON_ABSENT)
        rc = read_reason(reason, out, err);
    if (rc == RC_OK && out->kind != FEED_REPOST)
        rc = read_post(out, err);
    if (rc == RC_OK && !bytes_equal(out->name.did, did))
        rc = err_set(err, RC_REJECT, "it is of another account than the feed");
    return rc;
}

/* ---- records ---- */

/* A post that somebody shares here: not an act of its author in this feed. */
static enum rc add_subject(struct json view, const char *body_key,
                           const struct feed_reading *reading, struct batch *batch)
{
    struct bytes uri, cid;
    struct at_uri name;
    struct err ignored;
    struct post_output added;
    int64_t seen_us;
    struct json body = json_get(view, body_key);
    if (json_type(body) != JSON_OBJECT ||
        read_name(view, AT_POST, &uri, &name, &cid, &ignored) != RC_OK ||
        read_time(view, "indexedAt", &seen_us, &ignored) != RC_OK)
        return RC_OK; /* not shown, or not a post: the store owes it to itself */
    return post_record_add(&(struct post_input){.did = name.did,
                                                .collection = name.collection,
                                                .rkey = name.rkey,
                                                .cid = cid,
                                                .op = POST_OP_PUT,
                                                .kind = POST_KIND_SUBJECT,
                                                .shared_us = seen_us,
                                                .now_us = reading->now_us,
                                                .asof_seq = reading->asof_seq,
                                                .body = body},
                           batch, &added);
}

/* The quoted post, as the view of the post that quotes it shows it. */
static struct json quoted_in(struct json post)
{
    struct json embed = json_get(post, "embed"), record = json_get(embed, "record");
    struct json nested = json_get(record, "record"); /* beside a picture or a card */
    return json_type(nested) == JSON_OBJECT ? nested : record;
}

static enum rc add_act(const struct feed_item *item, const struct feed_reading *reading,
                       struct batch *batch, unsigned *links)
{
    bool repost = item->kind == FEED_REPOST;
    struct post_output added;
    struct post_input post = {.did = item->name.did,
                              .collection = item->name.collection,
                              .rkey = item->name.rkey,
                              .cid = item->cid,
                              .op = POST_OP_PUT,
                              .kind = repost ? POST_KIND_REPOST : POST_KIND_POST,
                              .shared_us = item->seen_us,
                              .now_us = reading->now_us,
                              .asof_seq = reading->asof_seq};
    if (repost)
        post.subject = json_string_or_absent(json_get(item->post, "uri"));
    else
        post.body = json_get(item->post, "record");
    enum rc rc = post_record_add(&post, batch, &added);
    if (rc == RC_OK)
        *links = added.records - 1;
    return rc;
}

enum rc feed_item_add(const struct feed_item *item, const struct feed_reading *reading,
                      struct batch *batch, unsigned *links)
{
    assert(item->name.did.len > 0 && batch != NULL);
    struct batch_mark mark = batch_mark(batch);
    *links = 0;
    if (item->kind == FEED_PIN)
        return RC_OK;
    enum rc rc = add_act(item, reading, batch, links);
    if (rc == RC_OK && item->kind == FEED_REPOST)
        rc = add_subject(item->post, "record", reading, batch);
    else if (rc == RC_OK)
        rc = add_subject(quoted_in(item->post), "value", reading, batch);
    if (rc != RC_OK)
        batch_undo(batch, mark);
    return rc;
}
