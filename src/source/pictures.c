/* SPDX-License-Identifier: Apache-2.0 */
#include "source/pictures.h"

#include "base/picture_type.h"
#include "decode/url.h"
#include "source/cards_pace.h"
#include "source/delivery.h"
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
    FETCH_WAITING,
    FETCH_QUEUED,
    FETCH_ASKING,
    FETCH_FETCHED,
    FETCH_STORING,
};

struct fetch {
    enum fetch_place place;
    struct pictures *pictures;
    int64_t link;
    struct text name, url, data;
    char reason[96]; /* why there is no picture; "": there is */
    struct timer turn;
    struct http_call *call;
    uint64_t queued; /* those that came first go first */
};

struct pictures {
    struct source_env env;
    bool enabled, stopping;
    int64_t keep_bytes;
    struct text cdn;
    struct cards_pace pace;
    struct fetch fetches[FETCHES_MAX];
    size_t in_hand;
    uint64_t queue_turns;
    struct delivery delivery;
    struct pictures_counts counts;
};

static int64_t mono(const struct pictures *pictures)
{
    return pictures->env.runtime->ops->mono_us(pictures->env.runtime);
}

static void ask_queued(struct pictures *pictures);

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
        pictures->in_hand--;
    }
    store_fetched(pictures);
    ask_queued(pictures);
}

/* ---- out of the network ---- */

static void fail(struct fetch *fetch, const char *reason)
{
    fetch->pictures->counts.failed++;
    snprintf(fetch->reason, sizeof fetch->reason, "%s", reason);
}

static void pause_host(struct fetch *fetch, int64_t wait_us)
{
    struct url url;
    if (wait_us > 0 && url_parse(text_bytes(&fetch->url), &url, NULL) == RC_OK)
        cards_pace_pause(&fetch->pictures->pace, url.host,
                         mono(fetch->pictures) + (wait_us < PAUSE_US_MAX ? wait_us : PAUSE_US_MAX));
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
    assert(fetch->place == FETCH_ASKING);
    fetch->call = NULL;
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

static void ask(struct fetch *fetch)
{
    static const struct http_header headers[] = {
        {"Accept", "image/avif,image/webp,image/png,image/jpeg,image/gif"}};
    struct runtime *runtime = fetch->pictures->env.runtime;
    struct http_request request = {
        .url = text_string(&fetch->url),
        .headers = headers,
        .header_count = sizeof headers / sizeof headers[0],
        .total_ms_max = FETCH_MS_MAX,
        .body_bytes_max = PICTURE_BYTES_MAX,
        .stranger = true,
        .redirects_max = REDIRECTS_MAX,
    };
    fetch->place = FETCH_ASKING;
    fetch->pictures->in_hand++;
    fetch->call = runtime->ops->http_send(runtime, &request, take_answer, fetch);
}

static void ask_queued(struct pictures *pictures)
{
    while (pictures->in_hand < IN_HAND_MAX && !pictures->stopping) {
        struct fetch *first = NULL;
        for (size_t i = 0; i < FETCHES_MAX; i++) {
            struct fetch *fetch = &pictures->fetches[i];
            if (fetch->place == FETCH_QUEUED && (first == NULL || fetch->queued < first->queued))
                first = fetch;
        }
        if (first == NULL)
            return;
        ask(first);
    }
}

static void take_turn(void *arg)
{
    struct fetch *fetch = arg;
    fetch->place = FETCH_QUEUED;
    fetch->queued = fetch->pictures->queue_turns++;
    ask_queued(fetch->pictures);
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
    struct runtime *runtime = pictures->env.runtime;
    struct url url;
    struct err err;
    int64_t at_us, now_us = mono(pictures);
    struct fetch *fetch =
        pictures->enabled && !pictures->stopping ? find_place(pictures, name) : NULL;
    if (fetch == NULL)
        return;
    fetch->link = link;
    text_clear(&fetch->name);
    text_append(&fetch->name, name.data, name.len);
    set_url(pictures, address, &fetch->url);
    if (url_parse(text_bytes(&fetch->url), &url, &err) != RC_OK) {
        begin(fetch, FETCH_FETCHED);
        pictures->in_hand++;
        fail(fetch, err.text);
        store_fetched(pictures);
    } else if (cards_pace_take(&pictures->pace, url.host, now_us, AHEAD_US, &at_us) == RC_OK) {
        begin(fetch, FETCH_WAITING);
        runtime->ops->timer_arm(runtime, &fetch->turn, at_us - now_us);
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
    cards_pace_init(&pictures->pace, env->runtime->ops->random(env->runtime), PER_HOST_US);
    delivery_init(&pictures->delivery, &pictures->env, store_fetched, stored, pictures);
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        pictures->fetches[i].pictures = pictures;
        pictures->fetches[i].turn = (struct timer){.fn = take_turn, .arg = &pictures->fetches[i]};
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
    struct runtime *runtime = pictures->env.runtime;
    pictures->stopping = true;
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        struct fetch *fetch = &pictures->fetches[i];
        runtime->ops->timer_disarm(runtime, &fetch->turn);
        if (fetch->call != NULL)
            runtime->ops->http_cancel(runtime, fetch->call);
        fetch->call = NULL;
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
