/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/screen.h"
#include "cli/status_text.h"
#include "cli/target.h"
#include "sys/loop.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define WATCH_US         INT64_C(1000000)
#define WATCH_SECONDS    5 /* a daemon that does not answer is not waited for longer */
#define EXIT_INTERRUPTED 130

static const char usage[] =
    "usage: tidemark status [--watch] [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Shows the daemon, the store, and each source: state, provider, cursor, how far it is behind,\n"
    "events per second, open gaps, owed and dead work, quarantined input; and of account "
    "histories\n"
    "which parts are stored whole, and what was never read.\n"
    "  --watch           again every second until Ctrl-C: on the whole of a terminal, else one "
    "after\n"
    "                    the other\n"
    "  --json            one JSON object; what only a running daemon knows is null without one\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n";

struct wanted {
    bool watch, json;
};

/* ---- one look ---- */

static enum rc ask_health(struct target *target, struct json_doc *doc, struct json *health,
                          struct err *err)
{
    struct text reply = {0};
    int status;
    *health = (struct json){0};
    if (target->store != NULL)
        return RC_OK;
    enum rc rc =
        target_ask(target, "GET", "/health", NULL, target->seconds_max, &status, &reply, err);
    if (rc == RC_OK)
        rc = json_parse_copy(doc, text_bytes(&reply), health, err);
    if (rc == RC_REJECT)
        err_wrap(err, rc, "the daemon's health is not JSON");
    text_free(&reply);
    return rc;
}

static enum rc draw(struct target *target, const struct wanted *wanted, bool color,
                    struct text *out, struct err *err)
{
    struct text status = {0};
    struct json root, health;
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    enum rc rc = target_open(target, err);
    if (rc == RC_OK)
        rc = target_status(target, &status, err);
    if (rc == RC_OK && !wanted->json)
        rc = ask_health(target, doc, &health, err);
    if (rc == RC_OK)
        rc = target_parse(target, &status, &root, err);
    if (rc == RC_OK && wanted->json) {
        text_append(out, status.data, status.len);
    } else if (rc == RC_OK) {
        status_text(root, health, color, out);
    }
    text_free(&status);
    json_doc_free(doc);
    return rc;
}

/* ---- watching ---- */

struct watch {
    struct target *target;
    const struct wanted *wanted;
    bool color;
    struct screen *screen; /* NULL: stdout is no terminal, or JSON is wanted */
    struct loop *loop;
    struct timer again;
    int code;
};

static void look(void *arg)
{
    struct watch *watch = arg;
    struct runtime *runtime = loop_runtime(watch->loop);
    struct text frame = {0}, out = {0};
    struct err err;
    bool seen = draw(watch->target, watch->wanted, watch->color, &frame, &err) == RC_OK;
    if (!seen && watch->screen != NULL)
        text_appendf(&frame, "tidemark: %s\n", err.text);
    else if (!seen)
        (void)target_fail(&err);
    if (watch->screen != NULL)
        screen_draw(watch->screen, text_bytes(&frame), &out);
    else
        text_append(&out, frame.data, frame.len);
    if (seen && watch->screen == NULL && !watch->wanted->json)
        text_append_char(&out, '\n');
    watch->code = target_put(&out);
    text_free(&frame);
    text_free(&out);
    if (watch->code != EXIT_DONE)
        loop_stop(watch->loop);
    runtime->ops->timer_arm(runtime, &watch->again, WATCH_US);
}

static void interrupt(void *arg)
{
    struct watch *watch = arg;
    watch->code = EXIT_INTERRUPTED;
    loop_stop(watch->loop);
}

/* Ctrl-Z: the terminal is the shell's until it brings us back. */
static void step_aside(void *arg)
{
    struct watch *watch = arg;
    screen_close(watch->screen);
    raise(SIGSTOP);
    watch->screen = screen_open();
    look(watch);
}

static int watch_status(struct target *target, const struct wanted *wanted, bool color,
                        bool terminal)
{
    struct watch watch = {.target = target, .wanted = wanted, .color = color, .loop = loop_new()};
    struct runtime *runtime = loop_runtime(watch.loop);
    target->seconds_max = WATCH_SECONDS;
    watch.again = (struct timer){.fn = look, .arg = &watch};
    loop_on_signal(watch.loop, SIGINT, interrupt, &watch);
    loop_on_signal(watch.loop, SIGTERM, interrupt, &watch);
    loop_on_signal(watch.loop, SIGHUP, interrupt, &watch);
    if (terminal && !wanted->json) {
        loop_on_signal(watch.loop, SIGWINCH, look, &watch);
        loop_on_signal(watch.loop, SIGTSTP, step_aside, &watch);
        watch.screen = screen_open();
    }
    runtime->ops->timer_arm(runtime, &watch.again, 0);
    loop_run(watch.loop);
    screen_close(watch.screen);
    runtime->ops->timer_disarm(runtime, &watch.again);
    loop_free(watch.loop);
    return watch.code;
}

int cmd_status(int argc, char **argv)
{
    static const struct settings_flag flags[] = {
        {.name = "watch", .at = offsetof(struct wanted, watch)},
        {.name = "json", .at = offsetof(struct wanted, json)},
        {0}};
    struct wanted wanted = {0};
    const struct target_words words = {.usage = usage, .flags = flags, .arg = &wanted};
    struct target target;
    struct text out = {0};
    struct err err;
    int first, code;
    bool terminal = screen_obeys(STDOUT_FILENO);
    bool color = terminal && getenv("NO_COLOR") == NULL;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    if (wanted.watch) {
        code = watch_status(&target, &wanted, color, terminal);
    } else {
        enum rc rc = draw(&target, &wanted, color, &out, &err);
        code = rc == RC_OK ? target_put(&out) : target_fail(&err);
    }
    text_free(&out);
    target_free(&target);
    return code;
}
