/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/health.h"

#include "base/json_write.h"

#include <stdarg.h>
#include <stdio.h>

void health_degrade(struct health_view *view, const char *format, ...)
{
    va_list args;
    if (view->reason_count == HEALTH_REASONS_MAX)
        return;
    va_start(args, format);
    vsnprintf(view->reasons[view->reason_count++], HEALTH_REASON_TEXT_MAX, format, args);
    va_end(args);
}

bool health_is_good(const struct health_view *view)
{
    return view->reason_count == 0 && view->writer_trouble[0] == '\0';
}

static void put_known(struct json_writer *writer, const char *key, int64_t value)
{
    json_key(writer, key);
    if (value < 0)
        json_put_null(writer);
    else
        json_put_i64(writer, value);
}

static void put_accounts(struct json_writer *writer, const struct health_accounts *accounts)
{
    int64_t ago = accounts->oldest_success_us_ago;
    json_key(writer, "accounts");
    json_begin_object(writer);
    put_known(writer, "count", accounts->count);
    put_known(writer, "complete", accounts->complete);
    put_known(writer, "running", accounts->running);
    put_known(writer, "failed", accounts->failed);
    put_known(writer, "oldest_success_seconds_ago", ago < 0 ? -1 : ago / 1000000);
    json_end_object(writer);
}

void health_print(const struct health_view *view, struct text *out)
{
    struct json_writer writer;
    int64_t ago = view->last_event_us_ago;
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, "status");
    json_put_cstring(&writer, health_is_good(view) ? "healthy" : "degraded");
    json_key(&writer, "websocket_connected");
    json_put_bool(&writer, view->websocket_connected);
    json_key(&writer, "last_event_seconds_ago");
    if (ago < 0)
        json_put_null(&writer);
    else
        json_put_real(&writer, (double)(ago - ago % 1000) / 1e6);
    put_known(&writer, "cursor_time_us", view->cursor_time_us);
    put_known(&writer, "follows_count", view->follows_count);
    put_known(&writer, "backfill_queue_depth", view->backfill_queue_depth);
    put_known(&writer, "gaps_open", view->gaps_open);
    put_accounts(&writer, &view->accounts);
    put_known(&writer, "commit_seq", view->commit_seq);
    put_known(&writer, "uptime_seconds", view->uptime_us / 1000000);
    json_key(&writer, "version");
    json_put_cstring(&writer, TIDEMARK_VERSION);
    json_key(&writer, "writer_trouble");
    json_put_cstring(&writer, view->writer_trouble[0] == '\0' ? NULL : view->writer_trouble);
    json_key(&writer, "reasons");
    json_begin_array(&writer);
    for (size_t i = 0; i < view->reason_count; i++)
        json_put_cstring(&writer, view->reasons[i]);
    json_end_array(&writer);
    json_end_object(&writer);
    text_append_char(out, '\n');
}
