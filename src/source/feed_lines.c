/* SPDX-License-Identifier: Apache-2.0 */
#include "source/feed_lines.h"

#include "sys/log.h"

#include <string.h>

#define COMPONENT "poller"

static void say(enum log_level level, const char *event, const char *tag, struct text *words,
                struct bytes handle)
{
    log_tagged(level, COMPONENT, event, tag, text_bytes(words),
               (struct log_field[]){log_text("handle", handle), LOG_END});
    text_free(words);
}

void feed_line_read(const char *tag, struct bytes handle, const struct sweep_report *report)
{
    struct text words = {0};
    text_appendf(&words, "%.*s: %u posts, %u URLs across %u pages", (int)handle.len, handle.data,
                 (unsigned)report->fresh, (unsigned)report->urls, (unsigned)report->pages);
    say(LOG_INFO, strcmp(tag, "INITIAL") == 0 ? "initial" : "poll", tag, &words, handle);
}

void feed_line_many(struct bytes handle)
{
    struct text words = {0};
    text_appendf(&words, "%.*s: High volume detected, fetching more pages", (int)handle.len,
                 handle.data);
    say(LOG_INFO, "high_volume", "POLL", &words, handle);
}

void feed_line_skip(struct bytes handle, const struct sweep_report *report)
{
    struct text words = {0};
    text_appendf(&words, "%.*s: Account unavailable (invalid/deleted/private): API error: %d%s%s",
                 (int)handle.len, handle.data, report->status,
                 report->standing[0] == '\0' ? "" : " ", report->standing);
    say(LOG_INFO, "skip", "SKIP", &words, handle);
}

void feed_line_error(struct bytes handle, const struct sweep_report *report)
{
    struct text words = {0};
    text_appendf(&words, "%.*s: %s; tried again in the next cycle", (int)handle.len, handle.data,
                 report->why);
    say(LOG_ERROR, "error", "ERROR", &words, handle);
}
