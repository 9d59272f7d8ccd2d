/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cards_page.h"

#include "decode/card.h"
#include "decode/url_identity.h"

#define PIECE_BYTES ((size_t)16 << 10)

static void set(struct text *text, struct bytes value)
{
    text_clear(text);
    text_append(text, value.data, value.len);
}

void cards_way_begin(struct cards_way *way, struct bytes address)
{
    set(&way->address, address);
    set(&way->believed, address);
    way->hops = 0;
    way->strayed = false;
}

void cards_way_deinit(struct cards_way *way)
{
    text_free(&way->address);
    text_free(&way->believed);
}

/* Whether what `from` stands for, now is at `to`. */
static bool is_same_link(struct bytes from, struct bytes to, int status)
{
    struct url_identity here, there;
    if (url_normalize(from, &here, NULL) != RC_OK || url_normalize(to, &there, NULL) != RC_OK)
        return false;
    if ((here.flags & URL_SHORTENER) != 0 || bytes_equal(here.normalized, there.normalized))
        return true;
    return (status == 301 || status == 308) && bytes_equal(here.domain, there.domain) &&
           !url_identity_is_front_page(&there);
}

enum rc cards_way_follow(struct cards_way *way, int status, struct bytes location, struct err *err)
{
    struct url here, there;
    struct text target = {0};
    if (++way->hops > CARDS_HOPS_MAX)
        return err_set(err, RC_REJECT, "over %d redirects", CARDS_HOPS_MAX);
    enum rc rc = url_parse(text_bytes(&way->address), &here, err);
    if (rc == RC_OK)
        rc = url_join(&here, location, &there, err);
    if (rc != RC_OK)
        return rc;
    url_print(&there, false, &target);
    if (!way->strayed && is_same_link(text_bytes(&way->address), text_bytes(&target), status))
        set(&way->believed, text_bytes(&target));
    else
        way->strayed = true;
    set(&way->address, text_bytes(&target));
    text_free(&target);
    return RC_OK;
}

bool cards_way_tells(const struct cards_way *way, struct bytes url)
{
    struct url_identity identity;
    return url_normalize(text_bytes(&way->believed), &identity, NULL) == RC_OK &&
           !bytes_equal(identity.normalized, url);
}

/* A page that was only shown in place of the article says nothing about it. */
static bool speaks_for_link(const struct cards_way *way)
{
    struct url_identity link, page;
    if (!way->strayed)
        return true;
    if (url_normalize(text_bytes(&way->believed), &link, NULL) != RC_OK ||
        url_normalize(text_bytes(&way->address), &page, NULL) != RC_OK)
        return false;
    return bytes_equal(link.host, page.host) || !bytes_equal(link.domain, page.domain);
}

static bool set_same(struct batch *batch, struct record *record, const struct url_identity *same)
{
    batch_set_int(record, CARD_SAME_FLAGS, same->flags);
    return batch_set_text(batch, record, CARD_SAME_AS, same->normalized) &&
           batch_set_text(batch, record, CARD_SAME_READER_URL, same->reader) &&
           batch_set_text(batch, record, CARD_SAME_DOMAIN, same->domain);
}

static bool add(struct batch *batch, struct bytes url, const struct cards_way *way,
                const struct card *card, int64_t now_us)
{
    struct url_identity link, said;
    const struct url_identity *same = &link;
    struct record *record = batch_add(batch, RECORD_CARD);
    if (record == NULL || !batch_set_text(batch, record, CARD_URL, url) ||
        !batch_set_text(batch, record, CARD_TITLE, card->title) ||
        !batch_set_text(batch, record, CARD_DESCRIPTION, card->description) ||
        !batch_set_text(batch, record, CARD_IMAGE_URL, card->image))
        return false;
    batch_set_int(record, CARD_AT_US, now_us);
    if (url_normalize(text_bytes(&way->believed), &link, NULL) != RC_OK)
        return true;
    if (!way->strayed && card_identity(card, &link, &said))
        same = &said;
    return bytes_equal(same->normalized, url) || set_same(batch, record, same);
}

/* Piece by piece: the head of a page is usually enough, and the loop has other things to do. */
static void feed(struct card_reader *reader, struct bytes body)
{
    bool more = true;
    for (size_t at = 0, len; at < body.len && more; at += len) {
        len = body.len - at < PIECE_BYTES ? body.len - at : PIECE_BYTES;
        more = card_reader_feed(reader, bytes_make(body.data + at, len));
    }
}

static void read_page(const struct cards_way *way, const struct http_response *response,
                      struct card_reader **reader, struct card *card)
{
    struct bytes type = http_header_value(response, "content-type");
    *card = (struct card){0};
    if (!card_reads(type) || !speaks_for_link(way))
        return;
    *reader = card_reader_new(text_bytes(&way->address), type);
    feed(*reader, response->body);
    card_reader_finish(*reader, card);
}

enum rc cards_page_add(struct batch *batch, struct bytes url, const struct cards_way *way,
                       const struct http_response *response, int64_t now_us)
{
    struct card_reader *reader = NULL;
    struct card card = {0};
    struct batch_mark mark = batch_mark(batch);
    if (response != NULL)
        read_page(way, response, &reader, &card);
    bool added = add(batch, url, way, &card, now_us);
    if (!added)
        batch_undo(batch, mark);
    if (reader != NULL)
        card_reader_free(reader);
    return added ? RC_OK : RC_AGAIN;
}
