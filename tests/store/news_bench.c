/* SPDX-License-Identifier: Apache-2.0 */
#include "news_bench.h"

#include <stdio.h>

static void set(struct bench *bench, struct record *record, unsigned field, const char *value)
{
    if (value != NULL)
        assert_true(batch_set_text(&bench->batch, record, field, bytes_of(value)));
}

static const char *collection_of(const struct news_post *post)
{
    return post->kind == POST_KIND_REPOST ? REPOSTS : POSTS;
}

struct record *news_add_post(struct bench *bench, struct news_post post)
{
    struct record *record = batch_add(&bench->batch, RECORD_POST);
    char uri[256];
    assert_non_null(record);
    set(bench, record, POST_DID, post.did);
    set(bench, record, POST_COLLECTION, collection_of(&post));
    set(bench, record, POST_RKEY, post.rkey);
    set(bench, record, POST_REV, post.rev);
    set(bench, record, POST_CID, post.cid);
    batch_set_int(record, POST_OP, post.op);
    batch_set_int(record, POST_KIND, post.kind);
    batch_set_int(record, POST_SHARED_US, post.shared_us);
    if (post.rev == NULL)
        batch_set_int(record, POST_ASOF_SEQ, post.asof);
    if (post.fresh)
        batch_set_int(record, POST_FRESH, 1);
    if (post.subject_did == NULL)
        return record;
    snprintf(uri, sizeof uri, "at://%s/" POSTS "/%s", post.subject_did, post.subject_rkey);
    set(bench, record, POST_SUBJECT, uri);
    set(bench, record, POST_SUBJECT_DID, post.subject_did);
    set(bench, record, POST_SUBJECT_COLLECTION, POSTS);
    set(bench, record, POST_SUBJECT_RKEY, post.subject_rkey);
    return record;
}

struct record *news_add_link(struct bench *bench, struct news_post post, const char *url,
                             const char *title)
{
    struct record *record = batch_add(&bench->batch, RECORD_LINK);
    assert_non_null(record);
    set(bench, record, LINK_DID, post.did);
    set(bench, record, LINK_COLLECTION, collection_of(&post));
    set(bench, record, LINK_RKEY, post.rkey);
    set(bench, record, LINK_URL, url);
    set(bench, record, LINK_REV, post.rev);
    set(bench, record, LINK_READER_URL, url);
    set(bench, record, LINK_DOMAIN, "e.example");
    set(bench, record, LINK_TITLE, title);
    batch_set_int(record, LINK_FLAGS, 0);
    return record;
}

void news_add_post_with_link(struct bench *bench, struct news_post post, const char *url)
{
    news_add_post(bench, post);
    news_add_link(bench, post, url, "A title");
}

struct record *news_add_account(struct bench *bench, const char *did, int64_t at_us, int active)
{
    struct record *record = batch_add(&bench->batch, RECORD_ACCOUNT);
    assert_non_null(record);
    set(bench, record, ACCOUNT_DID, did);
    batch_set_int(record, ACCOUNT_AT_US, at_us);
    batch_set_int(record, ACCOUNT_ACTIVE, active);
    set(bench, record, ACCOUNT_STATUS, active ? NULL : "deactivated");
    return record;
}

struct record *news_add_card(struct bench *bench, const char *url, int64_t at_us, const char *title,
                             const char *same_as)
{
    struct record *record = batch_add(&bench->batch, RECORD_CARD);
    assert_non_null(record);
    set(bench, record, CARD_URL, url);
    batch_set_int(record, CARD_AT_US, at_us);
    set(bench, record, CARD_TITLE, title);
    set(bench, record, CARD_SAME_AS, same_as);
    return record;
}
