/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_progress.h"

#include "base/json_member.h"
#include "base/timestamp.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const states[] = {
    [LEDGER_LOADING] = "loading", [LEDGER_WAITING] = "waiting", [LEDGER_ASKING] = "asking",
    [LEDGER_STORING] = "storing", [LEDGER_ENDED] = "ended",     NULL};
static const char *const outcomes[] = {[LEDGER_UNDECIDED] = "undecided",
                                       [LEDGER_COMPLETE] = "complete",
                                       [LEDGER_INCOMPLETE] = "incomplete",
                                       [LEDGER_UNAUTHORIZED] = "unauthorized",
                                       [LEDGER_FAILED] = "failed",
                                       [LEDGER_STOPPED] = "stopped",
                                       NULL};

static const struct {
    const char *name;
    size_t offset; /* in the view */
} numbers[] = {{"batches", offsetof(struct ledger_stream_view, batches)},
               {"imported", offsetof(struct ledger_stream_view, rows)},
               {"skipped", offsetof(struct ledger_stream_view, known)},
               {"stored", offsetof(struct ledger_stream_view, stored)},
               {"older", offsetof(struct ledger_stream_view, older)},
               {"orphaned", offsetof(struct ledger_stream_view, orphaned)},
               {"refused", offsetof(struct ledger_stream_view, refused)},
               {"owed", offsetof(struct ledger_stream_view, owed)},
               {"requests", offsetof(struct ledger_stream_view, requests)},
               {"switches", offsetof(struct ledger_stream_view, switches)},
               {"position", offsetof(struct ledger_stream_view, position)},
               {"total", offsetof(struct ledger_stream_view, total)}};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

/* ---- from an import ---- */

static void take_stream(struct import_stream *stream, const struct ledger_account *account,
                        size_t number, int64_t now_us)
{
    *stream = (struct import_stream){.wait_us = 0};
    ledger_account_look_stream(account, number, &stream->view);
    snprintf(stream->name, sizeof stream->name, "%s", stream->view.name);
    snprintf(stream->provider, sizeof stream->provider, "%s", stream->view.provider);
    stream->view.name = stream->view.provider = NULL;
    if (stream->view.until_us > now_us)
        stream->wait_us = stream->view.until_us - now_us;
}

void import_progress_take(struct import_progress *progress, const struct ledger_account *account,
                          int64_t now_us)
{
    struct ledger_account_view view;
    ledger_account_look(account, &view);
    assert(view.stream_count <= LEDGER_STREAMS_MAX);
    snprintf(progress->account, sizeof progress->account, "%s", view.name);
    snprintf(progress->trouble, sizeof progress->trouble, "%s", view.trouble);
    progress->started_us = view.started_us;
    progress->outcome = view.outcome;
    progress->stream_count = view.stream_count;
    for (size_t i = 0; i < view.stream_count; i++)
        take_stream(&progress->streams[i], account, i, now_us);
}

/* ---- as JSON ---- */

static void print_stream(const struct import_stream *stream, struct json_writer *json)
{
    json_begin_object(json);
    json_member_cstring(json, "stream", stream->name);
    json_member_cstring(json, "provider", stream->provider);
    json_member_cstring(json, "state", states[stream->view.state]);
    json_member_cstring(json, "outcome", outcomes[stream->view.outcome]);
    json_member_cstring(json, "positionKind", cursor_kind_name(stream->view.kind));
    for (size_t i = 0; i < NUMBERS; i++) {
        int64_t number;
        memcpy(&number, (const char *)&stream->view + numbers[i].offset, sizeof number);
        json_key(json, numbers[i].name);
        json_put_i64(json, number);
    }
    json_member_i64(json, "waitMs", stream->wait_us / 1000);
    json_member_bool(json, "limited", stream->view.limited);
    json_member_cstring(json, "moved", stream->view.moved);
    json_member_cstring(json, "trouble", stream->view.trouble);
    json_end_object(json);
}

void import_progress_print(const struct import_progress *progress, struct json_writer *json)
{
    char started[TIMESTAMP_TEXT_MAX];
    json_member_cstring(json, "account", progress->account);
    json_member_cstring(json, "startedAt",
                        timestamp_format(progress->started_us, started) ? started : NULL);
    json_member_cstring(json, "outcome", outcomes[progress->outcome]);
    json_member_cstring(json, "trouble", progress->trouble);
    json_key(json, "streams");
    json_begin_array(json);
    for (size_t i = 0; i < progress->stream_count; i++)
        print_stream(&progress->streams[i], json);
    json_end_array(json);
}

/* ---- and back ---- */

static bool read_word(struct json value, char *out, size_t size)
{
    struct bytes word;
    if (!json_string(value, &word))
        return false;
    utf8_copy(word, out, size);
    return true;
}

static bool read_choice(struct json value, const char *const *names, unsigned *out)
{
    struct bytes word;
    if (!json_string(value, &word))
        return false;
    for (*out = 0; names[*out] != NULL; ++*out)
        if (bytes_equal_string(word, names[*out]))
            return true;
    return false;
}

static bool read_stream(struct json root, struct import_stream *stream)
{
    unsigned state, outcome;
    int64_t wait_ms;
    *stream = (struct import_stream){.wait_us = 0};
    bool good =
        read_word(json_get(root, "stream"), stream->name, sizeof stream->name) &&
        read_word(json_get(root, "provider"), stream->provider, sizeof stream->provider) &&
        read_word(json_get(root, "moved"), stream->view.moved, sizeof stream->view.moved) &&
        read_word(json_get(root, "trouble"), stream->view.trouble, sizeof stream->view.trouble) &&
        read_choice(json_get(root, "state"), states, &state) &&
        read_choice(json_get(root, "outcome"), outcomes, &outcome) &&
        json_i64(json_get(root, "waitMs"), &wait_ms) &&
        json_bool(json_get(root, "limited"), &stream->view.limited);
    for (size_t i = 0; i < NUMBERS && good; i++) {
        int64_t number;
        good = json_i64(json_get(root, numbers[i].name), &number);
        memcpy((char *)&stream->view + numbers[i].offset, &number, sizeof number);
    }
    if (!good)
        return false;
    stream->view.state = (enum ledger_stream_state)state;
    stream->view.outcome = (enum ledger_outcome)outcome;
    stream->view.kind = cursor_kind_parse(json_string_or_absent(json_get(root, "positionKind")));
    stream->wait_us = wait_ms * 1000;
    return true;
}

bool import_progress_read(struct json root, struct import_progress *progress)
{
    struct json_walk walk = json_walk(json_get(root, "streams"));
    struct bytes key;
    struct json stream;
    unsigned outcome;
    *progress = (struct import_progress){.started_us = 0};
    if (!read_word(json_get(root, "account"), progress->account, sizeof progress->account) ||
        !read_word(json_get(root, "trouble"), progress->trouble, sizeof progress->trouble) ||
        !read_choice(json_get(root, "outcome"), outcomes, &outcome) ||
        !timestamp_parse(json_string_or_absent(json_get(root, "startedAt")), &progress->started_us))
        return false;
    progress->outcome = (enum ledger_outcome)outcome;
    while (json_walk_next(&walk, &key, &stream))
        if (progress->stream_count == LEDGER_STREAMS_MAX ||
            !read_stream(stream, &progress->streams[progress->stream_count++]))
            return false;
    return true;
}
