/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/event_json.h"
#include "sim/post.h"

#include <assert.h>
#include <string.h>

#define RELAY_SEQ_BASE 30000000000

static inline void put(struct text *out, const char *string)
{
    text_append(out, string, strlen(string));
}

static void put_i64(struct text *out, int64_t value)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *--at = '-';
    text_append(out, at, (size_t)(digits + sizeof digits - at));
}

static void put_escape(struct text *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    const char *found = memchr("\"\\\n\r\t", c, 5);
    if (c != '\0' && found != NULL) {
        char two[2] = {'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : (char)c};
        text_append(out, two, 2);
    } else {
        char six[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        text_append(out, six, 6);
    }
}

void event_json_string(struct text *out, struct bytes string)
{
    size_t done = 0;
    text_append_char(out, '"');
    for (size_t i = 0; i < string.len; i++) {
        unsigned char c = (unsigned char)string.data[i];
        bool separator = c == 0xe2 && string.len - i >= 3 && string.data[i + 1] == '\x80' &&
                         (string.data[i + 2] & 0xfe) == 0xa8;
        if (!separator && c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&')
            continue;
        text_append(out, string.data + done, i - done);
        if (separator) {
            put(out, (string.data[i + 2] & 1) != 0 ? "\\u2029" : "\\u2028");
            i += 2;
        } else {
            put_escape(out, c);
        }
        done = i + 1;
    }
    text_append(out, string.data + done, string.len - done);
    text_append_char(out, '"');
}

static void put_string(struct text *out, const char *string)
{
    event_json_string(out, bytes_of(string));
}

static void put_time(struct text *out, int64_t us)
{
    char iso[ISO_SIZE];
    iso_write(us, 3, iso);
    text_append_char(out, '"');
    put(out, iso);
    text_append_char(out, '"');
}

static void put_cid(struct text *out, const struct world *world, uint32_t k)
{
    char cid[CID_SIZE];
    world_cid(world, k, cid);
    text_append_char(out, '"');
    text_append(out, cid, CID_SIZE - 1);
    text_append_char(out, '"');
}

void event_uri(const struct world *world, uint32_t k, struct text *out)
{
    const struct world_event *event = world_event(world, k);
    char rkey[TID_SIZE];
    world_rkey(world, k, rkey);
    put(out, "at://");
    text_append(out, world_account(world, event->account)->did, DID_SIZE - 1);
    put(out, "/");
    put(out, world_collection_name(event->collection));
    put(out, "/");
    put(out, rkey);
}

/* The event that wrote the version that stood at event `at` of the record that k created. */
static uint32_t version_at(const struct world *world, uint32_t k, uint32_t at)
{
    uint32_t version = world_event(world, k)->latest;
    while (version != k && (version > at || world_event(world, version)->kind != EVENT_UPDATE ||
                            world_event(world, version)->subject != k))
        version = world_previous(world, version);
    return version;
}

/* {"cid":…,"uri":…} of the record that event k created, as it stood at event `at`. */
static void put_strong_ref(struct text *out, const struct world *world, uint32_t k, uint32_t at)
{
    put(out, "{\"cid\":");
    put_cid(out, world, version_at(world, k, at));
    put(out, ",\"uri\":\"");
    event_uri(world, k, out);
    put(out, "\"}");
}

static void put_blob(struct text *out, const struct world *world, uint32_t k)
{
    put(out, "{\"$type\":\"blob\",\"ref\":{\"$link\":");
    put_cid(out, world, k);
    put(out, "},\"mimeType\":\"image/jpeg\",\"size\":");
    put_i64(out, 20000 + k % 700000);
    put(out, "}");
}

static void put_card(struct text *out, const struct world *world, uint32_t k,
                     const struct post *post)
{
    put(out, "{\"$type\":\"app.bsky.embed.external\",\"external\":{\"description\":");
    put_string(out, post->card_description);
    if (k % 2 == 0) {
        put(out, ",\"thumb\":");
        put_blob(out, world, k);
    }
    put(out, ",\"title\":");
    put_string(out, post->card_title);
    put(out, ",\"uri\":");
    put_string(out, post->card_url);
    put(out, "}}");
}

static void put_quote(struct text *out, const struct world *world, uint32_t k,
                      const struct post *post)
{
    put(out, "{\"$type\":\"app.bsky.embed.record\",\"record\":");
    put_strong_ref(out, world, post->outline.subject, k);
    put(out, "}");
}

static void put_embed(struct text *out, const struct world *world, uint32_t k,
                      const struct post *post)
{
    if (post->outline.embed == EMBED_NONE)
        return;
    put(out, ",\"embed\":");
    if (post->outline.embed == EMBED_EXTERNAL) {
        put_card(out, world, k, post);
    } else if (post->outline.embed == EMBED_RECORD) {
        put_quote(out, world, k, post);
    } else if (post->outline.embed == EMBED_RECORD_WITH_MEDIA) {
        put(out, "{\"$type\":\"app.bsky.embed.recordWithMedia\",\"media\":");
        put_card(out, world, k, post);
        put(out, ",\"record\":");
        put_quote(out, world, k, post);
        put(out, "}");
    } else {
        put(out, "{\"$type\":\"app.bsky.embed.images\",\"images\":[{\"alt\":\"a \\u003ctide\\u003e "
                 "\\u0026 a mark\","
                 "\"aspectRatio\":{\"height\":900,\"width\":1600},\"image\":");
        put_blob(out, world, k);
        put(out, "}]}");
    }
}

static void put_facets(struct text *out, const struct post *post)
{
    bool first = true;
    for (unsigned i = 0; i < post->link_count; i++) {
        const struct post_link *link = &post->links[i];
        if (link->begin == link->end)
            continue;
        put(out, first ? ",\"facets\":[" : ",");
        first = false;
        put(out, "{\"features\":[{\"$type\":\"app.bsky.richtext.facet#link\",\"uri\":");
        put_string(out, link->url);
        put(out, "}],\"index\":{\"byteEnd\":");
        put_i64(out, link->end);
        put(out, ",\"byteStart\":");
        put_i64(out, link->begin);
        put(out, "}}");
    }
    if (post->tag_end > post->tag_begin) {
        put(out, first ? ",\"facets\":[" : ",");
        first = false;
        put(out,
            "{\"features\":[{\"$type\":\"app.bsky.richtext.facet#tag\",\"tag\":\"" POST_MARKED_TAG
            "\"}],\"index\":{\"byteEnd\":");
        put_i64(out, post->tag_end);
        put(out, ",\"byteStart\":");
        put_i64(out, post->tag_begin);
        put(out, "}}");
    }
    if (!first)
        put(out, "]");
}

static void put_langs(struct text *out, const struct post *post)
{
    for (unsigned i = 0; i < post->lang_count; i++) {
        put(out, i == 0 ? ",\"langs\":[" : ",");
        put_string(out, post->langs[i]);
    }
    if (post->lang_count > 0)
        put(out, "]");
}

static void put_post(struct text *out, const struct world *world, uint32_t k)
{
    struct post post;
    post_compose(world, k, &post);
    put(out, "{\"$type\":\"app.bsky.feed.post\",\"createdAt\":");
    put_time(out, post.created_us);
    put_embed(out, world, k, &post);
    put_facets(out, &post);
    put_langs(out, &post);
    if (post.outline.is_reply) {
        put(out, ",\"reply\":{\"parent\":");
        put_strong_ref(out, world, post.outline.subject, k);
        put(out, ",\"root\":");
        put_strong_ref(out, world, post.outline.subject, k);
        put(out, "}");
    }
    if (post.listed_tag != NULL) {
        put(out, ",\"tags\":[");
        put_string(out, post.listed_tag);
        put(out, "]");
    }
    put(out, ",\"text\":");
    event_json_string(out, bytes_make(post.text, post.text_len));
    put(out, "}");
}

static void put_profile(struct text *out, const struct world *world, uint32_t k)
{
    const struct world_event *event = world_event(world, k);
    char name[NAME_SIZE];
    world_display_name(world, event->account, event->latest, name);
    put(out, "{\"$type\":\"app.bsky.actor.profile\",\"avatar\":");
    put_blob(out, world, k);
    put(out, ",\"description\":\"tides \\u0026 marks\",\"displayName\":");
    put_string(out, name);
    if (event->subject != WORLD_NONE) {
        put(out, ",\"pinnedPost\":");
        put_strong_ref(out, world, event->subject, k);
    }
    put(out, "}");
}

void event_json_record(const struct world *world, uint32_t k, struct text *out)
{
    const struct world_event *event = world_event(world, k);
    if (event->collection == COLLECTION_POST) {
        put_post(out, world, k);
        return;
    }
    if (event->collection == COLLECTION_PROFILE) {
        put_profile(out, world, k);
        return;
    }
    put(out, "{\"$type\":\"");
    put(out, world_collection_name(event->collection));
    put(out, "\",\"createdAt\":");
    put_time(out, post_created_us(world, k));
    put(out, ",\"subject\":");
    if (event->collection == COLLECTION_FOLLOW)
        put_string(out, world_account(world, event->subject)->did);
    else
        put_strong_ref(out, world, event->subject, k);
    put(out, "}");
}

static const char *const operations[] = {"create", "update", "delete"};

static void put_commit(struct text *out, const struct world *world, uint32_t k)
{
    const struct world_event *event = world_event(world, k);
    char tid[TID_SIZE];
    world_rev(world, k, tid);
    put(out, "\"commit\",\"commit\":{\"rev\":\"");
    put(out, tid);
    put(out, "\",\"operation\":\"");
    put(out, operations[event->kind]);
    put(out, "\",\"collection\":\"");
    put(out, world_collection_name(event->collection));
    put(out, "\",\"rkey\":\"");
    world_rkey(world, k, tid);
    put(out, tid);
    put(out, "\"");
    if (event->kind != EVENT_DELETE) {
        put(out, ",\"record\":");
        event_json_record(world, k, out);
        put(out, ",\"cid\":");
        put_cid(out, world, k);
    }
    put(out, "}");
}

/* The part that the relay sent: its own sequence and a time somewhat before ours. */
static void put_relay_seq(struct text *out, uint32_t k)
{
    put(out, ",\"seq\":");
    put_i64(out, RELAY_SEQ_BASE + k);
}

static void put_identity(struct text *out, const struct world *world, uint32_t k)
{
    const struct world_event *event = world_event(world, k);
    char handle[NAME_SIZE];
    world_handle(world, event->account, event->subject, handle);
    put(out, "{\"did\":\"");
    put(out, world_account(world, event->account)->did);
    put(out, "\",\"handle\":");
    put_string(out, handle);
    put_relay_seq(out, k);
    put(out, ",\"time\":");
    put_time(out, event->time_us - 300000);
    put(out, "}");
}

static void put_account(struct text *out, const struct world *world, uint32_t k)
{
    const struct world_event *event = world_event(world, k);
    bool active = event->subject == ACCOUNT_ACTIVE;
    put(out, "{\"active\":");
    put(out, active ? "true" : "false");
    put(out, ",\"did\":\"");
    put(out, world_account(world, event->account)->did);
    put(out, "\"");
    put_relay_seq(out, k);
    if (!active) {
        put(out, ",\"status\":");
        put_string(out, world_status_name(event->subject));
    }
    put(out, ",\"time\":");
    put_time(out, event->time_us - 300000);
    put(out, "}");
}

void event_json_v1(const struct world *world, uint32_t k, int64_t seq, struct text *out)
{
    const struct world_event *event = world_event(world, k);
    put(out, "{\"did\":\"");
    text_append(out, world_account(world, event->account)->did, DID_SIZE - 1);
    put(out, "\",\"time_us\":");
    put_i64(out, world_shown_us(world, k));
    if (seq != 0) {
        put(out, ",\"cursor\":");
        put_i64(out, seq);
    }
    put(out, ",\"kind\":");
    if (event->kind == EVENT_IDENTITY) {
        put(out, "\"identity\",\"identity\":");
        put_identity(out, world, k);
    } else if (event->kind == EVENT_ACCOUNT) {
        put(out, "\"account\",\"account\":");
        put_account(out, world, k);
    } else {
        put_commit(out, world, k);
    }
    put(out, "}");
}

static void put_v2_commit(struct text *out, const struct world *world, uint32_t k)
{
    const struct world_event *event = world_event(world, k);
    char rev[TID_SIZE], rkey[TID_SIZE];
    world_rev(world, k, rev);
    world_rkey(world, k, rkey);
    if (event->kind != EVENT_DELETE) {
        put(out, "\"cid\":");
        put_cid(out, world, k);
        put(out, ",");
    }
    put(out, "\"collection\":\"");
    put(out, world_collection_name(event->collection));
    put(out, "\",\"did\":\"");
    put(out, world_account(world, event->account)->did);
    put(out, "\",\"operation\":\"");
    put(out, operations[event->kind]);
    if (event->kind != EVENT_DELETE) {
        put(out, "\",\"record\":");
        event_json_record(world, k, out);
        put(out, ",\"rev\":\"");
    } else {
        put(out, "\",\"rev\":\"");
    }
    put(out, rev);
    put(out, "\",\"rkey\":\"");
    put(out, rkey);
    put(out, "\"");
}

void event_json_v2(const struct world *world, uint32_t k, int64_t seq, struct text *out)
{
    const struct world_event *event = world_event(world, k);
    const char *did = world_account(world, event->account)->did;
    char iso[ISO_SIZE];
    put(out, "{\"$type\":\"message\",\"payload\":"
             "{\"$type\":\"network.bsky.jetstream.subscribeEvents#");
    if (event->kind == EVENT_IDENTITY) {
        put(out, "identity\",\"did\":\"");
        put(out, did);
        put(out, "\",\"identity\":");
        put_identity(out, world, k);
    } else if (event->kind == EVENT_ACCOUNT) {
        put(out, "account\",\"account\":");
        put_account(out, world, k);
        put(out, ",\"did\":\"");
        put(out, did);
        put(out, "\"");
    } else {
        put(out, "commit\",");
        put_v2_commit(out, world, k);
    }
    put(out, ",\"seq\":");
    put_i64(out, seq);
    put(out, ",\"time\":\"");
    iso_write(world_shown_us(world, k), 6, iso);
    put(out, iso);
    put(out, "\"}}");
}
