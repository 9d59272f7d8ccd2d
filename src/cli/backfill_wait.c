/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/backfill_wait.h"

#include "base/json_write.h"
#include "base/timestamp.h"
#include "cli/progress.h"
#include "sys/clock.h"
#include "sys/loop.h"

#include <inttypes.h>
#include <signal.h>

#define LOOK_US   INT64_C(400000)
#define SECOND_US INT64_C(1000000)
#define HOUR_US   3600e6

struct waiting {
    struct target *target;
    struct text question, *standing;
    struct progress progress;
    struct loop *loop;
    struct timer again;
    enum backfill_end *end;
    enum rc rc;
    struct err *err;
};

static int64_t time_of(struct json root, const char *key)
{
    int64_t us;
    return timestamp_parse(json_string_or_absent(json_get(root, key)), &us) ? us : 0;
}

static void append_note(struct text *note, struct json root, struct bytes state)
{
    int64_t ahead = 0, wait_us = time_of(root, "nextAt") - clock_wall_us();
    struct bytes why = json_string_or_absent(json_get(root, "why"));
    (void)json_i64(json_get(root, "ahead"), &ahead);
    if (bytes_equal_string(state, "again")) {
        text_append_string(note, "tried again in ");
        progress_append_span(note, (wait_us + SECOND_US - 1) / SECOND_US);
        text_appendf(note, ": %.*s", (int)why.len, why.data);
    } else if (bytes_equal_string(state, "waiting")) {
        text_appendf(note, "%" PRId64 " account%s before it", ahead, ahead == 1 ? "" : "s");
    }
}

/* From now back to where it shall end. */
static void show(struct waiting *waiting, struct json root, struct bytes state)
{
    struct text note = {0};
    int64_t began_us = time_of(root, "beganAt"), since_us = time_of(root, "sinceAt"),
            reached_us = time_of(root, "reachedAt");
    bool known = began_us > since_us && reached_us > 0;
    int64_t total = known ? began_us - since_us : 0, done = known ? began_us - reached_us : 0;
    append_note(&note, root, state);
    progress_show(&waiting->progress,
                  done < 0       ? 0
                  : done > total ? total
                                 : done,
                  total, note.len > 0 ? text_string(&note) : NULL, clock_mono_us());
    text_free(&note);
}

static void finish(struct waiting *waiting, enum backfill_end end, enum rc rc)
{
    *waiting->end = end;
    waiting->rc = rc;
    loop_stop(waiting->loop);
}

static void look(void *arg)
{
    struct waiting *waiting = arg;
    struct runtime *runtime = loop_runtime(waiting->loop);
    struct json root;
    enum rc rc =
        target_post(waiting->target, "/api/admin/backfill-progress",
                    text_string(&waiting->question), TARGET_SECONDS, NULL, &root, waiting->err);
    if (rc != RC_OK) {
        finish(waiting, BACKFILL_LEFT, rc);
        return;
    }
    struct bytes state = json_string_or_absent(json_get(root, "state"));
    if (bytes_equal_string(state, "read")) {
        finish(waiting, BACKFILL_READ, RC_OK);
        return;
    }
    if (bytes_equal_string(state, "gone")) {
        struct bytes why = json_string_or_absent(json_get(root, "why"));
        text_append(waiting->standing, why.data, why.len);
        finish(waiting, BACKFILL_GONE, RC_OK);
        return;
    }
    show(waiting, root, state);
    runtime->ops->timer_arm(runtime, &waiting->again, LOOK_US);
}

static void interrupt(void *arg)
{
    finish(arg, BACKFILL_LEFT, RC_OK);
}

enum rc backfill_wait(struct target *target, const char *did, bool quiet, enum backfill_end *end,
                      struct text *standing, struct err *err)
{
    struct waiting waiting = {
        .target = target, .standing = standing, .loop = loop_new(), .end = end, .err = err};
    struct runtime *runtime = loop_runtime(waiting.loop);
    struct json_writer writer;
    json_writer_init(&writer, &waiting.question);
    json_begin_object(&writer);
    json_key(&writer, "did");
    json_put_cstring(&writer, did);
    json_end_object(&writer);
    waiting.again = (struct timer){.fn = look, .arg = &waiting};
    progress_init(&waiting.progress, did, (struct progress_unit){"hours", HOUR_US},
                  live_lines_possible(), quiet);
    loop_on_signal(waiting.loop, SIGINT, interrupt, &waiting);
    loop_on_signal(waiting.loop, SIGTERM, interrupt, &waiting);
    runtime->ops->timer_arm(runtime, &waiting.again, 0);
    loop_run(waiting.loop);
    runtime->ops->timer_disarm(runtime, &waiting.again);
    progress_deinit(&waiting.progress);
    text_free(&waiting.question);
    loop_free(waiting.loop);
    return waiting.rc;
}
