/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_ask.h"

#include "base/json_member.h"
#include "base/timestamp.h"
#include "cli/import_view.h"
#include "cli/live_lines.h"
#include "sys/loop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_US     INT64_C(200000)
#define RUNNING_MAX 4
#define FORBIDDEN   403
#define BAD_REQUEST 400
#define GOOD        200

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_OVER };

struct job {
    enum job_state state;
    const char *account;
    struct text name; /* under which the daemon keeps it */
    int64_t started_us;
    struct import_progress progress;
    struct import_result *result;
};

struct asking {
    struct target *target;
    const struct import_wish *wish;
    struct import_view *view;
    struct job *jobs;
    int count;
    struct loop *loop;
    struct timer again;
    struct text out; /* results; printed below the last picture */
};

/* ---- one account ---- */

static void end_job(struct job *job, int refusal, const char *trouble)
{
    job->state = JOB_OVER;
    *job->result = (struct import_result){.account = memory_copy_string(job->account),
                                          .refusal = refusal,
                                          .trouble = memory_copy_string(trouble)};
}

/* RC_OK: answered with `root`. RC_REJECT: the job is over, and why is noted. */
static enum rc question(const struct asking *asking, struct job *job, const char *path,
                        const struct text *body, struct text *reply, struct json *root)
{
    struct err err;
    int status = 0;
    struct bytes words;
    enum rc rc = target_ask(asking->target, "POST", path, text_string(body), TARGET_SECONDS,
                            &status, reply, &err);
    if (rc == RC_OK)
        rc = target_parse(asking->target, reply, root, &err);
    if (rc != RC_OK) {
        end_job(job, EXIT_FAILED, err.text);
        return RC_REJECT;
    }
    if (status == GOOD)
        return RC_OK;
    if (json_string(json_get(*root, "error"), &words))
        err_set(&err, RC_REJECT, "%.*s", (int)words.len, words.data);
    else
        err_set(&err, RC_REJECT, "the daemon answered with status %d", status);
    end_job(job,
            status == BAD_REQUEST ? EXIT_USAGE
            : status == FORBIDDEN ? IMPORT_NO_KEY
                                  : EXIT_FAILED,
            err.text);
    return RC_REJECT;
}

static void begin_job(const struct asking *asking, struct job *job)
{
    struct text body = {0}, reply = {0};
    char date[TIMESTAMP_TEXT_MAX];
    struct json root;
    struct json_writer json;
    struct err err;
    if (strncmp(job->account, "csv:", 4) == 0) {
        err_set(&err, RC_REJECT, "%s: a daemon runs; files are read when none does", job->account);
        end_job(job, EXIT_FAILED, err.text);
        return;
    }
    json_writer_init(&json, &body);
    json_begin_object(&json);
    json_member_cstring(&json, "account", job->account);
    if (asking->wish->provider != NULL)
        json_member_cstring(&json, "provider", asking->wish->provider);
    if (asking->wish->since_us >= 0 && timestamp_format(asking->wish->since_us, date))
        json_member_cstring(&json, "since", date);
    json_end_object(&json);
    if (question(asking, job, "/api/admin/import", &body, &reply, &root) == RC_OK) {
        struct bytes name = json_string_or_absent(json_get(root, "account"));
        text_append(&job->name, name.data, name.len);
        job->state = JOB_RUNNING;
        if (!timestamp_parse(json_string_or_absent(json_get(root, "startedAt")), &job->started_us))
            end_job(job, EXIT_FAILED, "the daemon does not say which session it is");
    }
    text_free(&body);
    text_free(&reply);
}

/* Over is what began after we asked: the daemon may still be at an earlier one. */
static void take_progress(struct asking *asking, struct job *job, struct json root)
{
    struct bytes words = json_string_or_absent(json_get(root, "words"));
    if (!import_progress_read(root, &job->progress)) {
        end_job(job, EXIT_FAILED, "the daemon tells of it in an unknown way");
        return;
    }
    if (json_type(json_get(root, "result")) != JSON_OBJECT)
        return;
    job->state = JOB_OVER;
    *job->result = import_result_take(&job->progress);
    if (asking->wish->json) {
        json_print(json_get(root, "result"), &asking->out);
        text_append_char(&asking->out, '\n');
    } else {
        text_append(&asking->out, words.data, words.len);
    }
}

static void look_at_job(struct asking *asking, struct job *job)
{
    struct text body = {0}, reply = {0};
    char date[TIMESTAMP_TEXT_MAX];
    struct json root;
    struct json_writer json;
    json_writer_init(&json, &body);
    json_begin_object(&json);
    json_member_cstring(&json, "account", text_string(&job->name));
    json_member_cstring(&json, "startedAt", timestamp_format(job->started_us, date) ? date : NULL);
    json_end_object(&json);
    if (question(asking, job, "/api/admin/import-progress", &body, &reply, &root) == RC_OK)
        take_progress(asking, job, root);
    text_free(&body);
    text_free(&reply);
}

/* ---- all of them ---- */

static int count_jobs(const struct asking *asking, enum job_state state)
{
    int count = 0;
    for (int i = 0; i < asking->count; i++)
        count += asking->jobs[i].state == state;
    return count;
}

static void look(void *arg)
{
    struct asking *asking = arg;
    struct runtime *runtime = loop_runtime(asking->loop);
    int64_t now_us = runtime->ops->mono_us(runtime);
    for (int i = 0; i < asking->count; i++) {
        struct job *job = &asking->jobs[i];
        if (job->state == JOB_WAITING && count_jobs(asking, JOB_RUNNING) < RUNNING_MAX)
            begin_job(asking, job);
        if (job->state == JOB_RUNNING)
            look_at_job(asking, job);
    }
    import_view_begin(asking->view);
    for (int i = 0; i < asking->count; i++)
        import_view_show(asking->view, (size_t)i, &asking->jobs[i].progress, now_us);
    import_view_end(asking->view);
    if (count_jobs(asking, JOB_OVER) == asking->count)
        loop_stop(asking->loop);
    else
        runtime->ops->timer_arm(runtime, &asking->again, LOOK_US);
}

static void interrupt(void *arg)
{
    struct asking *asking = arg;
    loop_stop(asking->loop);
}

void import_ask(struct target *target, const struct import_wish *wish, char **accounts, int count,
                struct import_result *results, bool *interrupted)
{
    struct asking asking = {.target = target,
                            .wish = wish,
                            .view = import_view_new(live_lines_possible(), wish->quiet),
                            .jobs = memory_new_zeroed((size_t)count, sizeof *asking.jobs),
                            .count = count,
                            .loop = loop_new()};
    struct runtime *runtime = loop_runtime(asking.loop);
    asking.again = (struct timer){.fn = look, .arg = &asking};
    loop_on_signal(asking.loop, SIGINT, interrupt, &asking);
    loop_on_signal(asking.loop, SIGTERM, interrupt, &asking);
    for (int i = 0; i < count; i++) {
        asking.jobs[i].account = accounts[i];
        asking.jobs[i].result = &results[i];
    }
    runtime->ops->timer_arm(runtime, &asking.again, 0);
    loop_run(asking.loop);
    runtime->ops->timer_disarm(runtime, &asking.again);
    *interrupted = count_jobs(&asking, JOB_OVER) < count;
    if (target_put(&asking.out) != EXIT_DONE)
        results[0].refusal = EXIT_FAILED;
    for (int i = 0; i < count; i++)
        text_free(&asking.jobs[i].name);
    text_free(&asking.out);
    import_view_free(asking.view);
    loop_free(asking.loop);
    free(asking.jobs);
}
