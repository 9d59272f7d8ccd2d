/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/request_log.h"
#include "sim/event_json.h"

#include <stdlib.h>
#include <string.h>

#define LOGGED_BODY_MAX 4096

static const char path_key[] = "\"path\":\"";

void request_log_add(struct request_log *log, const struct http_request *request, int status)
{
    struct text line = {0};
    if (bytes_starts_with(request->path, "/_sim/"))
        return;
    if (log->entries == NULL)
        log->entries = memory_new_zeroed(REQUEST_LOG_MAX, sizeof *log->entries);
    struct logged_request *entry = &log->entries[log->total++ % REQUEST_LOG_MAX];
    text_append_string(&line, "\"path\":");
    event_json_string(&line, request->path);
    text_append_string(&line, ",\"query\":");
    event_json_string(&line, request->query);
    text_append_string(&line, ",\"method\":");
    event_json_string(&line, request->method);
    if (request->body.len > 0 && request->body.len <= LOGGED_BODY_MAX) {
        text_append_string(&line, ",\"body\":");
        event_json_string(&line, request->body);
    }
    free(entry->line);
    *entry = (struct logged_request){(int64_t)(uv_hrtime() / 1000), line.data, status};
}

void request_log_write(const struct request_log *log, const char *prefix, struct text *out)
{
    uint64_t kept = log->total < REQUEST_LOG_MAX ? log->total : REQUEST_LOG_MAX;
    for (uint64_t i = log->total - kept; i < log->total; i++) {
        const struct logged_request *entry = &log->entries[i % REQUEST_LOG_MAX];
        if (strncmp(entry->line + strlen(path_key), prefix, strlen(prefix)) == 0)
            text_appendf(out, "{\"at_us\":%lld,%s,\"status\":%d}\n", (long long)entry->at_us,
                         entry->line, entry->status);
    }
}

void request_log_deinit(struct request_log *log)
{
    for (size_t i = 0; log->entries != NULL && i < REQUEST_LOG_MAX; i++)
        free(log->entries[i].line);
    free(log->entries);
}
