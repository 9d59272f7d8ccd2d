/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream_packing.h"

#include "sys/log.h"

#include <assert.h>

#define DICTIONARY_BYTES_MAX ((size_t)4 << 20)
#define DECODED_BYTES_MAX    ((size_t)8 << 20)
#define FETCH_MS_MAX         10000

static struct zstd_decoder *make(struct bytes dictionary, const char *which)
{
    struct zstd_decoder *decoder = NULL;
    struct err err;
    if (dictionary.len == 0 ||
        zstd_decoder_new(dictionary, DECODED_BYTES_MAX, &decoder, &err) == RC_OK)
        return decoder;
    log_event(
        LOG_WARN, "jetstream", "dictionary_unusable",
        (struct log_field[]){log_string("which", which), log_string("reason", err.text), LOG_END});
    return NULL;
}

void jetstream_packing_init(struct jetstream_packing *packing, struct runtime *runtime, bool wanted,
                            struct bytes v1, struct bytes v2)
{
    *packing = (struct jetstream_packing){.runtime = runtime, .wanted = wanted};
    if (!wanted)
        return;
    packing->v1 = make(v1, "configured");
    packing->v2 = make(v2, "kept");
}

void jetstream_packing_deinit(struct jetstream_packing *packing)
{
    zstd_decoder_free(packing->v1);
    zstd_decoder_free(packing->v2);
}

static void warn(struct jetstream_host *host, const char *reason)
{
    if (host->warned)
        return;
    host->warned = true;
    log_event(LOG_WARN, "jetstream", "uncompressed",
              (struct log_field[]){log_string("host", host->name), log_string("reason", reason),
                                   LOG_END});
}

static enum rc take_answer(struct jetstream_packing *packing, const struct http_response *answer,
                           struct err *err)
{
    struct zstd_decoder *decoder;
    if (answer->rc != RC_OK)
        return err_wrap(err, answer->rc, "%s", answer->err.text);
    if (answer->status != 200)
        return err_set(err, RC_RETRY, "the dictionary's address answered %d", answer->status);
    enum rc rc = zstd_decoder_new(answer->body, DECODED_BYTES_MAX, &decoder, err);
    if (rc != RC_OK)
        return rc;
    zstd_decoder_free(packing->v2);
    packing->v2 = decoder;
    if (packing->keep != NULL)
        packing->keep(packing->keep_arg, answer->body);
    return RC_OK;
}

static void on_fetched(void *arg, const struct http_response *answer)
{
    struct jetstream_packing *packing = arg;
    struct jetstream_host *host = packing->host;
    struct err err = {{0}};
    packing->call = NULL;
    /* Only a host of the v2 wire has that address: the answer may tell the wire. */
    bool elsewhere = answer->rc == RC_OK && answer->status != 200 &&
                     jetstream_host_refused(host, answer->status, false);
    if (!elsewhere && take_answer(packing, answer, &err) != RC_OK)
        warn(host, err.text);
    packing->fetched(packing->fetched_arg);
}

bool jetstream_packing_fetch(struct jetstream_packing *packing, struct jetstream_host *host,
                             void (*fetched)(void *arg), void *arg)
{
    assert(packing->call == NULL);
    if (!packing->wanted || host->plain || packing->v2 != NULL ||
        jetstream_host_wire(host) != JETSTREAM_WIRE_V2)
        return false;
    struct text url = {0};
    jetstream_host_dictionary(host, &url);
    struct http_request request = {.url = text_string(&url),
                                   .total_ms_max = FETCH_MS_MAX,
                                   .body_bytes_max = DICTIONARY_BYTES_MAX};
    packing->host = host;
    packing->fetched = fetched;
    packing->fetched_arg = arg;
    packing->call =
        packing->runtime->ops->http_send(packing->runtime, &request, on_fetched, packing);
    text_free(&url);
    return true;
}

void jetstream_packing_cancel(struct jetstream_packing *packing)
{
    if (packing->call != NULL)
        packing->runtime->ops->http_cancel(packing->runtime, packing->call);
    packing->call = NULL;
}

void jetstream_packing_choose(struct jetstream_packing *packing, struct jetstream_host *host,
                              struct jetstream_ask *ask)
{
    bool v2 = jetstream_host_wire(host) == JETSTREAM_WIRE_V2;
    packing->current = NULL;
    if (!packing->wanted || host->plain)
        return;
    packing->current = v2 ? packing->v2 : packing->v1;
    if (packing->current == NULL && !v2)
        warn(host, "there is no dictionary for the v1 wire: set jetstream.dictionary_file, or "
                   "jetstream.compress to false");
    ask->compress = packing->current != NULL;
    ask->dictionary = packing->current == NULL ? 0 : zstd_decoder_id(packing->current);
}

void jetstream_packing_unknown(struct jetstream_packing *packing, struct jetstream_host *host)
{
    if (host->asked_dictionary) {
        jetstream_packing_give_up(packing, host, "the host does not know its own dictionary");
        return;
    }
    host->asked_dictionary = true;
    zstd_decoder_free(packing->v2);
    packing->v2 = packing->current = NULL;
}

/* One that may be damaged is not for the next run either. */
static void forget(struct jetstream_packing *packing)
{
    zstd_decoder_free(packing->v2);
    packing->v2 = packing->current = NULL;
    if (packing->keep != NULL)
        packing->keep(packing->keep_arg, bytes_of(""));
}

void jetstream_packing_give_up(struct jetstream_packing *packing, struct jetstream_host *host,
                               const char *reason)
{
    assert(packing->wanted);
    host->plain = true;
    if (packing->current != NULL && packing->current == packing->v2)
        forget(packing);
    warn(host, reason);
}

enum rc jetstream_packing_decode(struct jetstream_packing *packing, struct bytes frame,
                                 struct bytes *out, struct err *err)
{
    if (packing->current == NULL)
        return err_set(err, RC_REJECT, "a binary message on a stream of texts");
    return zstd_decoder_decode(packing->current, frame, out, err);
}
