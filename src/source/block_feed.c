/* SPDX-License-Identifier: Apache-2.0 */
#include "source/block_feed_parts.h"

#include "sys/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(BLOCK_LINE_HASH_MAX <= CONTENT_HASH_MAX, "a hash that was read can be kept");
_Static_assert(BLOCK_LINE_CURSOR_MAX <= CONTENT_CURSOR_MAX, "and a cursor");
_Static_assert(BLOCK_LINE_SPACE_MAX < CONTENT_SPACE_SIZE, "and a space");

/* A line has no room for more: the shortest address with its quotes, and a comma. */
#define NAMES_MAX (BLOCK_FEED_LINE_MAX / sizeof "\"ipfs://\"" + 1)

static void copy_words(struct bytes words, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)words.len, words.len > 0 ? words.data : "");
}

/* ---- what was told ---- */

static void remember(struct block_feed *feed, const struct block_line *line)
{
    feed->last.known = true;
    feed->last.number = line->number;
    copy_words(line->hash, feed->last.hash, sizeof feed->last.hash);
    copy_words(line->cursor, feed->last.cursor, sizeof feed->last.cursor);
    struct feed_link *link = &feed->links[feed->link_count++ % BLOCK_FEED_LINKS];
    link->number = line->number;
    memcpy(link->hash, feed->last.hash, sizeof link->hash);
}

/* Whether the very block was told before. */
static bool is_known(const struct block_feed *feed, const struct block_line *line)
{
    uint64_t kept = feed->link_count < BLOCK_FEED_LINKS ? feed->link_count : BLOCK_FEED_LINKS;
    for (uint64_t i = 1; i <= kept; i++) {
        const struct feed_link *link = &feed->links[(feed->link_count - i) % BLOCK_FEED_LINKS];
        if (link->number == line->number)
            return line->hash.len > 0 && bytes_equal_string(line->hash, link->hash);
    }
    return false;
}

/* ---- what is wrong with a line ---- */

static void stick(struct block_feed *feed, const char *why)
{
    feed->stuck = true;
    err_set(&feed->trouble, RC_REJECT,
            "content.feed, line %" PRIu64 ": %s: an undo is missing; mend the feed and restart, or "
            "run `tidemark reset content` to read it anew",
            feed->line_number, why);
}

/* All blocks in between would be taken for empty ones, and everything that follows for too late. */
static void doubt_jump(struct block_feed *feed)
{
    feed->stuck = true;
    err_set(&feed->trouble, RC_REJECT,
            "content.feed, line %" PRIu64 ": block %" PRIu64 " comes after block %" PRIu64
            ", and no more than %d may be left out; mend the line and restart, or, if it is right, "
            "set content.start_block to %" PRIu64 " and run `tidemark reset content`",
            feed->line_number, feed->line.number, feed->last.number, BLOCK_FEED_LEFT_OUT_MAX,
            feed->line.number);
}

static void complain(struct block_feed *feed, const char *why, const char *next)
{
    err_set(&feed->trouble, RC_REJECT, "content.feed, line %" PRIu64 ": %s", feed->line_number,
            why);
    log_event(LOG_ERROR, CONTENT_SOURCE, "bad_line",
              (struct log_field[]){log_string("reason", feed->trouble.text),
                                   log_string("next", next), LOG_END});
}

static void call_bad(struct block_feed *feed, const char *why)
{
    feed->kind = LINE_BAD;
    complain(feed, why, "it is in quarantine; the next line is read");
}

/* True: the line is kept. */
static bool give_bad(struct block_feed *feed)
{
    enum rc rc =
        content_quarantine(feed->content, feed->raw, feed->raw.len + feed->cut, feed->trouble.text);
    feed->waiting = rc == RC_AGAIN;
    feed->cut = rc == RC_OK ? 0 : feed->cut;
    return rc == RC_OK;
}

/* ---- where it goes on ---- */

/* True: the line belongs to what is stored and is passed over. */
static bool is_before(struct block_feed *feed)
{
    const struct block_line *line = &feed->line;
    bool first = feed->first;
    feed->first = false;
    if (!feed->seeking)
        return false;
    if (feed->last.cursor[0] == '\0')
        feed->seeking = line->number <= feed->last.number;
    else if (first && (line->undo || line->number > feed->last.number))
        feed->seeking = false;
    else if (bytes_equal_string(line->cursor, feed->last.cursor)) {
        feed->seeking = false;
        return true;
    }
    return feed->seeking;
}

/* ---- lines ---- */

static void undo(struct block_feed *feed)
{
    const struct block_line *line = &feed->line;
    if (feed->last.known && line->number < feed->last.number) {
        feed->undoing = true;
        content_undo(feed->content, line->number, line->hash, line->cursor);
    }
    if (feed->last.known && line->number <= feed->last.number)
        remember(feed, line);
}

/* False: it cannot follow what was told. */
static bool follows(struct block_feed *feed)
{
    const struct block_line *line = &feed->line;
    char why[ERR_TEXT_MAX];
    if (feed->last.known && line->number > feed->last.number &&
        line->number - feed->last.number - 1 > BLOCK_FEED_LEFT_OUT_MAX) {
        doubt_jump(feed);
        return false;
    }
    if (!feed->last.known || line->number > feed->last.number + 1)
        return true;
    if (line->number <= feed->last.number)
        snprintf(why, sizeof why, "block %" PRIu64 " comes after block %" PRIu64, line->number,
                 feed->last.number);
    else if (line->parent.len == 0 || feed->last.hash[0] == '\0' ||
             bytes_equal_string(line->parent, feed->last.hash))
        return true;
    else
        snprintf(why, sizeof why,
                 "block %" PRIu64 " has the parent %.*s, but block %" PRIu64 " is %s", line->number,
                 (int)line->parent.len, line->parent.data, feed->last.number, feed->last.hash);
    stick(feed, why);
    return false;
}

/* Hands on the blocks that were left out: they name nothing. */
static enum rc give_empty(struct block_feed *feed)
{
    enum rc rc = RC_OK;
    while (rc == RC_OK && feed->last.known && feed->last.number + 1 < feed->line.number) {
        struct content_block block = {.number = feed->last.number + 1,
                                      .cursor = bytes_of(feed->last.cursor)};
        rc = content_take(feed->content, &block);
        if (rc == RC_OK) {
            feed->last.number++;
            feed->last.hash[0] = '\0';
        }
    }
    return rc;
}

/* The line is kept for the uris that are none, before its block is given; false: it waits. */
static bool give_unusable(struct block_feed *feed)
{
    struct err err;
    if (feed->line.unusable == 0 || feed->kept)
        return true;
    block_line_explain(&feed->line, &err);
    if (!feed->complained)
        complain(feed, err.text, "it is in quarantine; the other uris of the block are taken");
    feed->complained = true;
    feed->kept = give_bad(feed);
    return feed->kept;
}

static enum rc give_block(struct block_feed *feed)
{
    const struct block_line *line = &feed->line;
    struct json_walk walk = json_walk(line->uris);
    struct content_block block = {.number = line->number,
                                  .hash = line->hash,
                                  .parent = line->parent,
                                  .cursor = line->cursor,
                                  .refs = feed->refs};
    struct content_ref ref;
    assert(json_count(line->uris) - line->unusable <= NAMES_MAX);
    while (block_line_next(&walk, &ref.name, &ref.space))
        feed->refs[block.ref_count++] = ref;
    enum rc rc = give_empty(feed);
    return rc == RC_OK ? content_take(feed->content, &block) : rc;
}

/* True: the line is dealt with. */
static bool give_line(struct block_feed *feed)
{
    const struct block_line *line = &feed->line;
    if (line->undo) {
        undo(feed);
        return true;
    }
    if (is_known(feed, line) && line->number <= feed->last.number)
        return true;
    if (!feed->last.known && line->number < feed->settings.start_block)
        return true;
    if (!follows(feed) || !give_unusable(feed))
        return false;
    enum rc rc = give_block(feed);
    feed->waiting = rc == RC_AGAIN;
    if (rc == RC_OK)
        remember(feed, line);
    return rc == RC_OK;
}

static bool is_blank(struct bytes line)
{
    for (size_t i = 0; i < line.len; i++)
        if (memchr(" \t\r", line.data[i], 3) == NULL)
            return false;
    return true;
}

/* What the line says, once; blocks that are stored are passed over. */
static void read_line(struct block_feed *feed)
{
    struct json root;
    struct err err;
    if (feed->cut == 0 && is_blank(feed->raw))
        return;
    feed->kind = LINE_BLOCK;
    feed->complained = feed->kept = false;
    if (feed->cut > 0 || feed->raw.len > BLOCK_FEED_LINE_MAX)
        call_bad(feed, "it is longer than a line may be");
    else if (json_parse_copy(feed->doc, feed->raw, &root, &err) != RC_OK ||
             block_line_read(root, &feed->line, &err) != RC_OK)
        call_bad(feed, err.text);
    else if (is_before(feed))
        feed->kind = LINE_NONE;
}

void block_feed_pump(struct block_feed *feed)
{
    while (!feed->stopping && !feed->stuck && !feed->waiting && !feed->undoing) {
        if (feed->kind == LINE_NONE) {
            if (!block_feed_next_line(feed)) {
                block_feed_ask_more(feed);
                return;
            }
            read_line(feed);
        }
        bool done = feed->kind == LINE_BAD     ? give_bad(feed)
                    : feed->kind == LINE_BLOCK ? give_line(feed)
                                               : true;
        if (done && feed->kind != LINE_NONE)
            feed->idle = false;
        if (done)
            feed->kind = LINE_NONE;
    }
}

/* ---- what the content source tells ---- */

static void on_started(void *arg, const struct content_place *place)
{
    struct block_feed *feed = arg;
    feed->last = *place;
    feed->seeking = feed->first = place->known;
    block_feed_pump(feed);
}

static void on_room(void *arg)
{
    struct block_feed *feed = arg;
    feed->waiting = false;
    block_feed_pump(feed);
}

static void on_undone(void *arg)
{
    struct block_feed *feed = arg;
    feed->undoing = false;
    block_feed_pump(feed);
}

const struct content_events block_feed_events = {on_started, on_room, on_undone};

/* ---- its life ---- */

static void on_again(void *arg)
{
    block_feed_pump(arg);
}

struct block_feed *block_feed_new(const struct source_env *env,
                                  const struct block_feed_settings *settings)
{
    struct block_feed *feed = memory_new_zeroed(1, sizeof *feed);
    assert((settings->url == NULL) != (settings->stream == NULL));
    feed->env = *env;
    feed->settings = *settings;
    feed->again = (struct timer){.fn = on_again, .arg = feed};
    feed->doc = json_doc_new(BLOCK_FEED_LINE_MAX, JSON_DEPTH_MAX);
    feed->refs = memory_new(NAMES_MAX * sizeof *feed->refs);
    return feed;
}

void block_feed_feed(struct block_feed *feed, struct content *content)
{
    feed->content = content;
}

void block_feed_stop(struct block_feed *feed)
{
    struct runtime *runtime = feed->env.runtime;
    feed->stopping = true;
    if (feed->exchange != NULL)
        runtime->ops->http_cancel(runtime, feed->exchange);
    feed->exchange = NULL;
    runtime->ops->timer_disarm(runtime, &feed->again);
}

void block_feed_free(struct block_feed *feed)
{
    if (feed == NULL)
        return;
    byte_stream_close(feed->settings.stream);
    json_doc_free(feed->doc);
    text_free(&feed->bytes);
    free(feed->refs);
    free(feed);
}

void block_feed_look(const struct block_feed *feed, struct block_feed_view *view)
{
    *view = (struct block_feed_view){
        .known = feed->last.known, .last = feed->last.number, .stuck = feed->stuck};
    snprintf(view->trouble, sizeof view->trouble, "%s",
             feed->seeking && !feed->first && feed->trouble.text[0] == '\0'
                 ? "content.feed: the cursor that is stored has not come yet"
                 : feed->trouble.text);
}
