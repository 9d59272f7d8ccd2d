/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/target.h"

#include "cli/socket_client.h"
#include "config_table.h"
#include "query/status.h"
#include "store/commit.h"
#include "store/store_files.h"
#include "sys/batch_pool.h"
#include "sys/clock.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BATCH_BYTES  16384
#define NAME_SECONDS 5

bool target_begin(struct target *target, const struct target_words *words, int argc, char **argv,
                  int *first, int *code)
{
    bool help;
    *target = (struct target){0};
    *first = settings_parse(&target->settings, argc, argv, words->usage, words->flags, words->arg,
                            &help);
    if (*first < 0) {
        *code = help ? EXIT_DONE : EXIT_USAGE;
        return false;
    }
    int count = argc - *first;
    if (count < words->words_min || count > words->words_max) {
        if (count > words->words_max)
            fprintf(stderr, "tidemark: \"%s\" is one word too many\n",
                    argv[*first + words->words_max]);
        else
            fputs("tidemark: a word is missing\n", stderr);
        fputs(words->usage, stderr);
        *code = EXIT_USAGE;
        return false;
    }
    if (!settings_load(&target->settings)) {
        settings_free(&target->settings);
        *code = EXIT_FAILED;
        return false;
    }
    config_socket_path(&target->settings.config, &target->socket);
    target->doc = json_doc_new(SOCKET_ANSWER_MAX, JSON_ANSWER_DEPTH_MAX);
    target->seconds_max = TARGET_SECONDS;
    return true;
}

void target_free(struct target *target)
{
    store_close(target->store);
    text_free(&target->socket);
    json_doc_free(target->doc);
    settings_free(&target->settings);
}

static enum rc refuse_foreign(struct target *target, const struct text *holder, struct err *err)
{
    return err_set(err, RC_REJECT,
                   "another tidemark (%s) has this store open and does not answer on %s: it starts "
                   "or stops, or runs elsewhere; ask it there, or stop it first",
                   text_string(holder), text_string(&target->socket));
}

static enum rc check_store(struct target *target, struct err *err)
{
    struct text holder = {0};
    bool alive;
    enum rc rc = target->store->ops->writer(target->store, &alive, &holder, err);
    if (rc == RC_OK && alive)
        rc = refuse_foreign(target, &holder, err);
    if (rc == RC_OK)
        rc = store_check_schema(target->store, err);
    text_free(&holder);
    return rc;
}

/* Another store in the same folder has the same socket. A daemon that cannot say which one it has
 * is believed: what is asked of it next shows what is wrong. */
static enum rc check_name(struct target *target, struct err *err)
{
    const struct socket_question question = {"GET", "/api/admin/store", NULL, NAME_SECONDS};
    struct socket_answer answer = {0};
    struct text wanted = {0};
    struct json root;
    struct bytes name;
    enum rc rc = RC_OK;
    store_name(target->settings.config.store.url, &wanted);
    target->foreign =
        socket_ask(text_string(&target->socket), &question, &answer, err) == RC_OK &&
        answer.status == 200 && target_parse(target, &answer.body, &root, err) == RC_OK &&
        json_string(json_get(root, "store"), &name) && !bytes_equal(name, text_bytes(&wanted));
    if (target->foreign)
        rc = err_set(err, RC_REJECT,
                     "the daemon that answers on %s has another store, %.*s, and not %s: name its "
                     "configuration with -c, or give this store a folder of its own",
                     text_string(&target->socket), (int)name.len, name.data, text_string(&wanted));
    text_free(&answer.body);
    text_free(&wanted);
    return rc;
}

/* Who names a folder and no store means the daemon that is there, whatever it has. */
static bool means_store(const struct config *config)
{
    return *config->store.data_dir == '\0' ||
           config_origin_of(config, "store.url").from != CONFIG_DEFAULT;
}

enum rc target_find(struct target *target, struct err *err)
{
    enum rc rc = socket_look(text_string(&target->socket), err);
    return rc == RC_OK && means_store(&target->settings.config) ? check_name(target, err) : rc;
}

enum rc target_demand(struct target *target, struct err *err)
{
    enum rc rc = target_find(target, err);
    if (rc == RC_AGAIN)
        rc = err_set(err, RC_REJECT, "no daemon runs that could do it: start one first");
    return rc;
}

enum rc target_open(struct target *target, struct err *err)
{
    store_close(target->store);
    target->store = NULL;
    enum rc rc = target_find(target, err);
    if (rc != RC_AGAIN)
        return rc;
    rc = store_open(target->settings.config.store.url, STORE_READ, &target->store, err);
    if (rc == RC_OK)
        rc = check_store(target, err);
    if (rc != RC_OK) {
        store_close(target->store);
        target->store = NULL;
    }
    return rc;
}

enum rc target_claim(struct target *target, struct store_position *position, struct err *err)
{
    char host[64] = "", holder[128];
    assert(target->store != NULL);
    store_close(target->store);
    target->store = NULL;
    enum rc rc = store_open(target->settings.config.store.url, STORE_WRITE, &target->store, err);
    if (rc == RC_OK)
        rc = store_check_schema(target->store, err);
    if (rc != RC_OK)
        return rc;
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    snprintf(holder, sizeof holder, "command, pid %ld on %s", (long)getpid(), host);
    return store_claim(target->store, holder, NULL, clock_wall_us(), position, err);
}

enum rc target_write(struct target *target, bool (*fill)(void *arg, struct batch *batch), void *arg,
                     struct err *err)
{
    struct store_position position;
    enum rc rc = target_claim(target, &position, err);
    if (rc != RC_OK)
        return rc;
    struct batch_pool *pool = batch_pool_new(1, BATCH_BYTES);
    struct commit *commit = commit_new();
    struct batch *batch = batch_take(pool);
    rc = fill(arg, batch) && commit_add(commit, batch)
             ? commit_write(commit, target->store, &position, clock_wall_us(), err)
             : err_set(err, RC_REJECT, "the names are too long");
    commit_take_batches(commit);
    batch_give_back(batch);
    commit_free(commit);
    batch_pool_free(pool);
    return rc;
}

static enum rc take_refusal(struct target *target, const struct socket_answer *answer,
                            struct err *err)
{
    struct json root;
    struct bytes words;
    if (target_parse(target, &answer->body, &root, err) == RC_OK &&
        json_string(json_get(root, "error"), &words))
        return err_set(err, RC_REJECT, "%.*s", (int)words.len, words.data);
    return err_set(err, RC_REJECT, "the daemon answered with status %d", answer->status);
}

/* The daemon, or the machine, has too much to do at the moment; nothing was done. */
static bool is_overloaded(struct target *target, const struct socket_answer *answer)
{
    struct json root;
    struct err ignored;
    if (answer->status != 503 || target_parse(target, &answer->body, &root, &ignored) != RC_OK)
        return false;
    struct bytes code = json_string_or_absent(json_get(root, "code"));
    return bytes_equal_string(code, "BUSY") || bytes_equal_string(code, "DEADLINE");
}

static enum rc ask_patiently(struct target *target, const struct socket_question *question,
                             struct socket_answer *answer, struct err *err)
{
    static const int pauses_ms[] = {100, 400, 1000, 2000, 4000};
    enum rc rc = socket_ask(text_string(&target->socket), question, answer, err);
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        if (rc != RC_OK || !is_overloaded(target, answer))
            break;
        poll(NULL, 0, pauses_ms[i]);
        text_clear(&answer->body);
        rc = socket_ask(text_string(&target->socket), question, answer, err);
    }
    return rc;
}

enum rc target_ask(struct target *target, const char *method, const char *path, const char *body,
                   unsigned seconds_max, int *status, struct text *reply, struct err *err)
{
    const struct socket_question question = {method, path, body, seconds_max};
    struct socket_answer answer = {0};
    assert(target->store == NULL);
    enum rc rc = ask_patiently(target, &question, &answer, err);
    if (rc == RC_OK && status != NULL)
        *status = answer.status;
    else if (rc == RC_OK && answer.status != 200)
        rc = take_refusal(target, &answer, err);
    if (rc == RC_OK)
        text_append(reply, answer.body.data, answer.body.len);
    text_free(&answer.body);
    return rc;
}

enum rc target_post(struct target *target, const char *path, const char *body, unsigned seconds_max,
                    struct text *reply, struct json *root, struct err *err)
{
    struct text own = {0};
    struct text *text = reply == NULL ? &own : reply;
    enum rc rc = target_ask(target, "POST", path, body, seconds_max, NULL, text, err);
    if (rc == RC_OK)
        rc = target_parse(target, text, root, err);
    text_free(&own);
    return rc;
}

enum rc target_status(struct target *target, struct text *out, struct err *err)
{
    if (target->store != NULL)
        return status_print(target->store, NULL, out, err);
    return target_ask(target, "GET", "/api/status", NULL, target->seconds_max, NULL, out, err);
}

enum rc target_parse(struct target *target, const struct text *json, struct json *root,
                     struct err *err)
{
    enum rc rc = json_parse_copy(target->doc, text_bytes(json), root, err);
    return rc == RC_OK ? rc : err_wrap(err, rc, "the answer is not JSON");
}

int target_fail(const struct err *err)
{
    fprintf(stderr, "tidemark: %s\n", err->text);
    return EXIT_FAILED;
}

int target_put(const struct text *text)
{
    bool written = text->len == 0 || fwrite(text->data, 1, text->len, stdout) == text->len;
    if (written && fflush(stdout) == 0)
        return EXIT_DONE;
    fputs("tidemark: cannot write the output\n", stderr);
    return EXIT_FAILED;
}
