/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/post_links.h"

#include "decode/at_uri.h"
#include "decode/card_text.h"
#include "decode/post_text.h"
#include "decode/url_text.h"

#include <assert.h>
#include <string.h>

#define CID_MAX 128

/* A part of the text that a link of the rich text stands for. */
struct covered {
    size_t start, end;
};

struct reading {
    struct arena *arena;
    struct post_links *out;
    struct covered covered[POST_LINKS_LOOKED_AT];
    size_t covered_count;
    size_t looked_at;
    bool full; /* the arena */
};

static struct bytes keep(struct reading *reading, struct bytes bytes)
{
    struct bytes copy = arena_copy(reading->arena, bytes);
    reading->full = reading->full || (bytes.data != NULL && copy.data == NULL);
    return copy;
}

/* Of two ways to one article the reader gets the better: a gift, the page itself, a copy. */
static int rank(unsigned flags)
{
    return (flags & URL_GIFT) != 0 ? 2 : (flags & URL_ARCHIVE) != 0 ? 0 : 1;
}

static struct post_link *find(struct post_links *out, struct bytes normalized)
{
    for (size_t i = 0; i < out->count; i++)
        if (bytes_equal(out->links[i].normalized, normalized))
            return &out->links[i];
    return NULL;
}

static void meet_again(struct reading *reading, struct post_link *link,
                       const struct url_identity *identity)
{
    const unsigned ways = URL_GIFT | URL_ARCHIVE;
    if (rank(identity->flags) <= rank(link->flags))
        return;
    link->reader = keep(reading, identity->reader);
    link->flags = (link->flags & ~ways) | (identity->flags & ways);
}

/* The link that `address` means, new or known; NULL when it is none or does not fit. */
static struct post_link *add(struct reading *reading, struct bytes address, unsigned via)
{
    struct url_identity identity;
    struct post_links *out = reading->out;
    if (reading->looked_at == POST_LINKS_LOOKED_AT) {
        out->left_out++;
        return NULL;
    }
    reading->looked_at++;
    if (url_normalize(address, &identity, NULL) != RC_OK) {
        out->refused++;
        return NULL;
    }
    struct post_link *link = find(out, identity.normalized);
    if (link != NULL) {
        meet_again(reading, link, &identity);
    } else if (out->count == POST_LINKS_MAX) {
        out->left_out++;
        return NULL;
    } else {
        link = &out->links[out->count++];
        *link = (struct post_link){.flags = identity.flags};
        link->normalized = keep(reading, identity.normalized);
        link->reader = keep(reading, identity.reader);
        if (link->normalized.data == NULL)
            return NULL;
        size_t host = (size_t)(identity.host.data - identity.normalized.data);
        link->host = url_cut(link->normalized, host, host + identity.host.len);
        link->domain = url_cut(link->host, link->host.len - identity.domain.len, link->host.len);
    }
    link->via |= via;
    return link;
}

static struct bytes keep_clean(struct reading *reading, struct json value, size_t max)
{
    char room[POST_CARD_DESCRIPTION_MAX];
    struct bytes raw = json_string_or_absent(value);
    assert(max <= sizeof room);
    if (raw.data == NULL)
        return BYTES_ABSENT;
    size_t len = card_text_clean(raw, room, max);
    return len == 0 ? BYTES_ABSENT : keep(reading, bytes_make(room, len));
}

/* The picture's CID: of a blob, or as clients wrote it before there were blobs. */
static struct bytes read_thumb(struct json thumb)
{
    struct bytes cid = json_string_or_absent(json_get(json_get(thumb, "ref"), "$link"));
    if (cid.data == NULL)
        cid = json_string_or_absent(json_get(thumb, "cid"));
    for (size_t i = 0; i < cid.len; i++)
        if (!url_letter_or_digit(cid.data[i]))
            return BYTES_ABSENT;
    return cid.len == 0 || cid.len > CID_MAX ? BYTES_ABSENT : cid;
}

static void read_card(struct reading *reading, struct json external)
{
    struct bytes uri;
    if (!json_string(json_get(external, "uri"), &uri))
        return;
    struct post_link *link = add(reading, uri, POST_LINK_CARD);
    if (link == NULL)
        return;
    link->title = keep_clean(reading, json_get(external, "title"), POST_CARD_TITLE_MAX);
    link->description =
        keep_clean(reading, json_get(external, "description"), POST_CARD_DESCRIPTION_MAX);
    link->thumb = keep(reading, read_thumb(json_get(external, "thumb")));
}

static void read_quote(struct reading *reading, struct json subject)
{
    struct at_uri parts;
    struct bytes uri;
    if (json_string(json_get(subject, "uri"), &uri) && at_uri_parse(uri, &parts) &&
        bytes_equal_string(parts.collection, AT_POST))
        reading->out->quote = keep(reading, uri);
}

static void read_embed(struct reading *reading, struct json embed)
{
    struct json record = json_get(embed, "record");
    read_card(reading, json_get(embed, "external"));
    read_card(reading, json_get(json_get(embed, "media"), "external"));
    read_quote(reading, record);
    read_quote(reading, json_get(record, "record"));
}

static void cover(struct reading *reading, struct json index, size_t text_len)
{
    uint64_t start, end;
    if (!json_u64(json_get(index, "byteStart"), &start) ||
        !json_u64(json_get(index, "byteEnd"), &end) || start >= end || end > text_len ||
        reading->covered_count == POST_LINKS_LOOKED_AT)
        return;
    reading->covered[reading->covered_count++] = (struct covered){(size_t)start, (size_t)end};
}

static void read_facets(struct reading *reading, struct json facets, size_t text_len)
{
    struct json_walk walk = json_walk(facets);
    struct json facet, feature;
    struct bytes key, uri;
    while (json_walk_next(&walk, &key, &facet)) {
        struct json_walk features = json_walk(json_get(facet, "features"));
        while (json_walk_next(&features, &key, &feature)) {
            struct bytes type = json_string_or_absent(json_get(feature, "$type"));
            if (!bytes_equal_string(type, "app.bsky.richtext.facet#link") ||
                !json_string(json_get(feature, "uri"), &uri))
                continue;
            add(reading, uri, POST_LINK_FACET);
            cover(reading, json_get(facet, "index"), text_len);
        }
    }
}

static bool is_covered(const struct reading *reading, const struct post_text_url *found)
{
    for (size_t i = 0; i < reading->covered_count; i++)
        if (found->start < reading->covered[i].end &&
            reading->covered[i].start < found->start + found->url.len)
            return true;
    return false;
}

static void read_text(struct reading *reading, struct bytes text)
{
    char room[URL_BYTES_MAX];
    struct post_text walk = post_text_walk(text);
    struct post_text_url found;
    if (text.len > POST_TEXT_LOOKED_AT) {
        walk.text.len = POST_TEXT_LOOKED_AT;
        reading->out->left_out++;
    }
    while (post_text_next(&walk, &found)) {
        struct url_text whole = url_text_over(room, sizeof room);
        if (is_covered(reading, &found))
            continue;
        url_text_put_string(&whole, found.bare ? "https://" : "");
        url_text_put_bytes(&whole, found.url);
        if (whole.full)
            reading->out->refused++;
        else
            add(reading, url_text_bytes(&whole), POST_LINK_TEXT);
    }
}

void post_links_clear(struct post_links *links)
{
    links->count = links->left_out = links->refused = 0;
    links->quote = BYTES_ABSENT;
}

enum rc post_links_read(struct json record, struct arena *arena, struct post_links *out)
{
    struct reading reading; /* large: what is counted by another field is not cleared */
    size_t used = arena->used;
    struct bytes text = json_string_or_absent(json_get(record, "text"));
    assert(out != NULL);
    reading.arena = arena;
    reading.out = out;
    reading.covered_count = reading.looked_at = 0;
    reading.full = false;
    post_links_clear(out);
    read_embed(&reading, json_get(record, "embed"));
    read_facets(&reading, json_get(record, "facets"), text.len);
    if (text.data != NULL)
        read_text(&reading, text);
    if (!reading.full)
        return RC_OK;
    arena->used = used;
    post_links_clear(out);
    return RC_AGAIN;
}
