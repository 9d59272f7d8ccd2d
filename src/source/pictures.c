/* SPDX-License-Identifier: Apache-2.0 */
#include "source/pictures.h"

#include "base/picture_type.h"
#include "source/delivery.h"
#include "source/turns.h"
#include "sys/crashpoint.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FETCHES_MAX   64
#define IN_HAND_MAX   8 /* asked for, or with bytes that are not stored yet */
#define FETCH_MS_MAX  10000
#define REDIRECTS_MAX 5
#define PER_HOST_US   INT64_C(50000)
#define AHEAD_US      INT64_C(5000000) /* so long a host's turn is worth waiting for */
#define PAUSE_US_MAX  INT64_C(600000000)
#define CDN           "https://cdn.bsky.app/"
#define PORTRAIT      "img/avatar/"           /* below it; a thousand pixels wide */
#define SMALL         "img/avatar_thumbnail/" /* the same, as large as a page shows it */

enum fetch_place {
    FETCH_FREE,
    FETCH_UNDER_WAY,
    FETCH_FETCHED,
    FETCH_STORING,
};

struct fetch {
    enum fetch_place place;
    struct pictures *pictures;
    int64_t link;
    struct text name, url, data;
    char reason[96]; /* why there is no picture; "": there is */
    struct turn turn;
};

struct pictures {
    struct source_env env;
    bool enabled, stopping;
    int64_t keep_bytes;
    struct text cdn;
    struct turns turns;
    struct fetch fetches[FETCHES_MAX];
    struct delivery delivery;
    struct pictures_counts counts;
};

static void release(struct fetch *fetch)
{
    fetch->place = FETCH_FREE;
    text_free(&fetch->data);
    fetch->pictures->counts.under_way--;
}

/* ---- into the store ---- */

static bool add_row(struct pictures *pictures, struct batch *batch, const struct fetch *fetch)
{
    struct runtime *runtime = pictures->env.runtime;
    struct batch_mark mark = batch_mark(batch);
    struct record *row = batch_add(batch, RECORD_PICTURE);
    bool had = fetch->reason[0] == '\0';
    if (row == NULL || !batch_set_text(batch, row, PICTURE_NAME, text_bytes(&fetch->name)) ||
        (had ? !batch_set_text(batch, row, PICTURE_DATA, text_bytes(&fetch->data))
             : !batch_set_text(batch, row, PICTURE_REASON, bytes_of(fetch->reason)))) {
        batch_undo(batch, mark);
        return false;
    }
    if (fetch->link != 0)
        batch_set_int(row, PICTURE_LINK, fetch->link);
    batch_set_int(row, PICTURE_AT_US, runtime->ops->wall_us(runtime));
    batch_set_int(row, PICTURE_KEEP_BYTES, pictures->keep_bytes);
    return true;
}

static bool any_is(const struct pictures *pictures, enum fetch_place place)
{
    for (size_t i = 0; i < FETCHES_MAX; i++)
        if (pictures->fetches[i].place == place)
            return true;
    return false;
}

/* Sends what has come, as much as fits a batch. */
static void store_fetched(void *arg)
{
    struct pictures *pictures = arg;
    if (pictures->stopping || delivery_is_busy(&pictures->delivery) ||
        !any_is(pictures, FETCH_FETCHED))
        return;
    struct batch *batch = delivery_take(&pictures->delivery);
    if (batch == NULL)
        return;
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        struct fetch *fetch = &pictures->fetches[i];
        if (fetch->place == FETCH_FETCHED && add_row(pictures, batch, fetch))
            fetch->place = FETCH_STORING;
    }
    assert(batch->record_count > 0);
    batch->urgent = true;
    delivery_send(&pictures->delivery);
    crashpoint(CRASH_PICTURE_SENT);
}

/* Committed or not: whoever looks finds out. */
static void stored(void *arg, enum rc rc)
{
    struct pictures *pictures = arg;
    (void)rc;
    crashpoint(CRASH_PICTURE_STORED);
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        if (pictures->fetches[i].place != FETCH_STORING)
            continue;
        release(&pictures->fetches[i]);
        turns_give_place(&pictures->turns);
    }
    store_fetched(pictures);
    turns_go_on(&pictures->turns);
}

/* ---- out of the network ---- */

static void fail(struct fetch *fetch, const char *reason)
{
    fetch->pictures->counts.failed++;
    snprintf(fetch->reason, sizeof fetch->reason, "%s", reason);
}

static void pause_host(struct fetch *fetch, int64_t wait_us)
{
    turns_pause(&fetch->pictures->turns, text_bytes(&fetch->url),
                wait_us < PAUSE_US_MAX ? wait_us : PAUSE_US_MAX);
}

static void take_bytes(struct fetch *fetch, struct bytes body)
{
    if (picture_type_of(body) == NULL) {
        fail(fetch, "it is no picture of pixels");
        return;
    }
    fetch->pictures->counts.fetched++;
    text_append(&fetch->data, body.data, body.len);
}

static void take_answer(void *arg, const struct http_response *response)
{
    struct fetch *fetch = arg;
    char reason[48];
    assert(fetch->place == FETCH_UNDER_WAY);
    turn_answered(&fetch->turn);
    fetch->place = FETCH_FETCHED;
    if (response->rc != RC_OK) {
        fail(fetch, response->err.text);
    } else if (response->status >= 200 && response->status < 300) {
        take_bytes(fetch, response->body);
    } else {
        snprintf(reason, sizeof reason, "its server answers %d", response->status);
        pause_host(fetch, response->retry_after_ms * 1000);
        fail(fetch, reason);
    }
    store_fetched(fetch->pictures);
}

static void ask(void *arg)
{
    static const struct http_header headers[] = {
        {"Accept", "image/avif,image/webp,image/png,image/jpeg,image/gif"}};
    struct fetch *fetch = arg;
    struct http_request request = {
        .url = text_string(&fetch->url),
        .headers = headers,
        .header_count = sizeof headers / sizeof headers[0],
        .total_ms_max = FETCH_MS_MAX,
        .body_bytes_max = PICTURE_BYTES_MAX,
        .stranger = true,
        .redirects_max = REDIRECTS_MAX,
    };
    turn_send(&fetch->turn, &request, take_answer);
}

/* ---- wishes ---- */

/* A free place; NULL: there is none, or the picture is on its way. */
static struct fetch *find_place(struct pictures *pictures, struct bytes name)
{
    struct fetch *place = NULL;
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        struct fetch *fetch = &pictures->fetches[i];
        if (fetch->place != FETCH_FREE && bytes_equal(text_bytes(&fetch->name), name))
            return NULL;
        if (fetch->place == FETCH_FREE && place == NULL)
            place = fetch;
    }
    pictures->counts.turned_away += place == NULL;
    return place;
}

static void set_url(struct pictures *pictures, struct bytes url, struct text *out)
{
    size_t prefix = bytes_starts_with(url, CDN) ? strlen(CDN) : 0;
    text_clear(out);
    if (prefix > 0)
        text_appendf(out, "%s/", text_string(&pictures->cdn));
    if (bytes_starts_with(url, CDN PORTRAIT)) {
        prefix = strlen(CDN PORTRAIT);
        text_append_string(out, SMALL);
    }
    text_append(out, url.data + prefix, url.len - prefix);
}

static void begin(struct fetch *fetch, enum fetch_place place)
{
    fetch->reason[0] = '\0';
    fetch->place = place;
    fetch->pictures->counts.under_way++;
}

void pictures_want(struct pictures *pictures, struct bytes name, int64_t link, struct bytes address)
{
    struct err err;
    int64_t wait_us;
    struct fetch *fetch =
        pictures->enabled && !pictures->stopping ? find_place(pictures, name) : NULL;
    if (fetch == NULL)
        return;
    fetch->link = link;
    text_clear(&fetch->name);
    text_append(&fetch->name, name.data, name.len);
    set_url(pictures, address, &fetch->url);
    enum rc rc = turn_wait(&fetch->turn, text_bytes(&fetch->url), AHEAD_US, &wait_us, &err);
    if (rc == RC_REJECT) {
        begin(fetch, FETCH_FETCHED);
        turns_take_place(&pictures->turns);
        fail(fetch, err.text);
        store_fetched(pictures);
    } else if (rc == RC_OK) {
        begin(fetch, FETCH_UNDER_WAY);
    } else {
        pictures->counts.turned_away++;
    }
}

/* ---- its life ---- */

void pictures_tune(struct pictures *pictures, const struct pictures_settings *settings)
{
    size_t len = strlen(settings->cdn);
    pictures->enabled = settings->enabled;
    pictures->keep_bytes = settings->keep_bytes;
    text_clear(&pictures->cdn);
    while (len > 0 && settings->cdn[len - 1] == '/')
        len--;
    text_append(&pictures->cdn, settings->cdn, len);
}

struct pictures *pictures_new(const struct source_env *env,
                              const struct pictures_settings *settings)
{
    struct pictures *pictures = memory_new_zeroed(1, sizeof *pictures);
    pictures->env = *env;
    turns_init(&pictures->turns, env->runtime, ask, IN_HAND_MAX, PER_HOST_US);
    delivery_init(&pictures->delivery, &pictures->env, store_fetched, stored, pictures);
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        pictures->fetches[i].pictures = pictures;
        turn_init(&pictures->fetches[i].turn, &pictures->turns, &pictures->fetches[i]);
    }
    pictures_tune(pictures, settings);
    return pictures;
}

void pictures_free(struct pictures *pictures)
{
    delivery_drop(&pictures->delivery);
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        text_free(&pictures->fetches[i].name);
        text_free(&pictures->fetches[i].url);
        text_free(&pictures->fetches[i].data);
    }
    text_free(&pictures->cdn);
    free(pictures);
}

void pictures_stop(struct pictures *pictures)
{
    pictures->stopping = true;
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        struct fetch *fetch = &pictures->fetches[i];
        turn_stop(&fetch->turn);
        if (fetch->place != FETCH_FREE && fetch->place != FETCH_STORING)
            release(fetch);
    }
    delivery_drop(&pictures->delivery);
}

bool pictures_stopped(const struct pictures *pictures)
{
    return !pictures->delivery.under_way;
}

struct pictures_counts pictures_counts(const struct pictures *pictures)
{
    return pictures->counts;
}
