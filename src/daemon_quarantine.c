/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_quarantine.h"

#include "base/utf8.h"
#include "daemon_errand.h"
#include "daemon_firehose.h"
#include "ingest/quarantine.h"
#include "source/delivery.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX 255

struct quarantine_ask {
    const struct part_env *env;
    struct part *firehose; /* NULL: it is not followed */
    struct errand errand;
    struct delivery delivery;
    /* what is to be done with which input */
    int64_t id;
    bool retry;
    char source[SOURCE_MAX + 1];
    struct text digest, raw;
};

/* ---- on the loop ---- */

static void refuse(struct quarantine_ask *ask, enum rc rc)
{
    delivery_drop(&ask->delivery);
    errand_finish(&ask->errand, rc);
}

static void stored(void *arg, enum rc rc)
{
    struct quarantine_ask *ask = arg;
    if (rc == RC_OK)
        log_event(LOG_INFO, "daemon", ask->retry ? "quarantine_retried" : "quarantine_dropped",
                  (struct log_field[]){log_int("id", ask->id), log_string("source", ask->source),
                                       LOG_END});
    ask->errand.why = (struct err){"the store did not take it"};
    errand_finish(&ask->errand, rc == RC_OK ? RC_OK : RC_RETRY);
}

static void act(void *arg)
{
    struct quarantine_ask *ask = arg;
    struct batch *batch = delivery_take(&ask->delivery);
    enum rc rc = RC_OK;
    if (batch == NULL)
        return;
    if (ask->retry)
        rc = firehose_part_hand_in(ask->firehose, text_bytes(&ask->raw), batch, &ask->errand.why);
    if (rc != RC_OK) {
        refuse(ask, rc == RC_REJECT ? rc : RC_RETRY);
        return;
    }
    rc = quarantine_leave(batch, bytes_of(ask->source), text_bytes(&ask->digest));
    assert(rc == RC_OK); /* one event and one row fit */
    delivery_send(&ask->delivery);
}

struct quarantine_ask *quarantine_ask_new(const struct part_env *env, struct part *firehose)
{
    struct quarantine_ask *ask = memory_new_zeroed(1, sizeof *ask);
    ask->env = env;
    ask->firehose = firehose;
    errand_init(&ask->errand, env->loop, "request", act, ask);
    delivery_init(&ask->delivery, &env->source, act, stored, ask);
    return ask;
}

void quarantine_ask_abandon(struct quarantine_ask *ask)
{
    errand_abandon(&ask->errand);
    delivery_drop(&ask->delivery);
}

void quarantine_ask_free(struct quarantine_ask *ask)
{
    errand_deinit(&ask->errand);
    text_free(&ask->digest);
    text_free(&ask->raw);
    free(ask);
}

/* ---- who asks ---- */

struct found {
    char source[SOURCE_MAX + 1];
    struct text digest, raw;
    int64_t size; /* of the input; `raw` may be only a note, or nothing */
};

static bool take_input(void *arg, const struct field *columns, size_t count)
{
    struct found *found = arg;
    assert(count == 4);
    utf8_copy(columns[0].b, found->source, sizeof found->source);
    text_append(&found->digest, columns[1].b.data, columns[1].b.len);
    if (!columns[2].null)
        text_append(&found->raw, columns[2].b.data, columns[2].b.len);
    found->size = columns[3].i;
    return false;
}

static enum rc check(const struct quarantine_ask *ask, const struct found *found, bool retry,
                     struct err *err)
{
    if (found->digest.len == 0)
        return err_set(err, RC_REJECT, "nothing is in quarantine under this id");
    if (!retry)
        return RC_OK;
    if (strcmp(found->source, "jetstream") != 0)
        return err_set(err, RC_REJECT,
                       "only messages of the firehose can be handed in again: what %s sends is "
                       "asked for anew by itself; drop it",
                       found->source);
    if ((int64_t)found->raw.len != found->size)
        return err_set(err, RC_REJECT, "its bytes were not kept: it can only be dropped");
    if (ask->firehose == NULL)
        return err_set(err, RC_REJECT, "no firehose is followed that could take it");
    return RC_OK;
}

/* Of a taken errand; the loop does not look at it before it runs. */
static void hand_over(struct quarantine_ask *ask, struct found *found, int64_t id, bool retry)
{
    static const char pad[ARENA_PAD];
    ask->id = id;
    ask->retry = retry;
    memcpy(ask->source, found->source, sizeof ask->source);
    text_clear(&ask->digest);
    text_append(&ask->digest, found->digest.data, found->digest.len);
    text_clear(&ask->raw);
    text_append(&ask->raw, found->raw.data, found->raw.len);
    text_append(&ask->raw, pad, sizeof pad);
    ask->raw.len -= sizeof pad;
}

enum rc quarantine_ask_run(struct quarantine_ask *ask, struct store *store, int64_t id, bool retry,
                           int64_t wait_us, struct err *err)
{
    struct found found = {0};
    struct field param = field_int(id);
    enum rc rc =
        store_query(store, "SELECT source, digest, raw, size FROM quarantine WHERE id = ?1", &param,
                    1, take_input, &found, err);
    if (rc == RC_OK)
        rc = check(ask, &found, retry, err);
    if (rc == RC_OK)
        rc = errand_take(&ask->errand, err);
    if (rc == RC_OK) {
        hand_over(ask, &found, id, retry);
        rc = errand_run(&ask->errand, wait_us, NULL, err);
    }
    text_free(&found.digest);
    text_free(&found.raw);
    return rc;
}
