/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_serve.h"

#include "decode/ipfs_uri.h"
#include "sys/log.h"

/* "" is how the configuration says "none". */
static const char *or_none(const char *value)
{
    return *value == '\0' ? NULL : value;
}

static bool spell_address(struct bytes name, struct text *out)
{
    struct cid cid;
    char canonical[IPFS_URI_SPELLED_SIZE];
    if (ipfs_uri_spell(name, false, &cid, canonical, NULL) != RC_OK)
        return false;
    text_append_string(out, canonical);
    return true;
}

void serve_options_init(struct server_options *options, const struct config *config)
{
    *options = (struct server_options){
        .listen = or_none(config->serve.listen),
        .health_listen = or_none(config->serve.health_listen),
        .store_url = config->store.url,
        .config = config,
        .spell_address = spell_address,
        .handles = handle_limits_of(config),
        .connections_max = (unsigned)config->serve.connections_max,
        .address_connections_max = (unsigned)config->serve.connections_per_address,
        .idle_s_max = (unsigned)config->serve.idle_seconds,
        .request_s_max = (unsigned)config->serve.request_seconds,
        .gate =
            {
                .tokens_file = or_none(config->serve.tokens_file),
                .reads_need_token = !config->serve.open_reads,
                .cors_origins = config->serve.cors_origins,
                .address_rate = (unsigned)config->serve.address_requests_per_second,
                .token_rate = (unsigned)config->serve.token_requests_per_second,
                .burst_s = (unsigned)config->serve.burst_seconds,
            },
    };
}

/* Whether there are tokens at all decides which addresses may be listened on: at the start only. */
void serve_reload(struct server *server, bool has_tokens, const struct config *fresh)
{
    const char *path = or_none(fresh->serve.tokens_file);
    struct err err;
    if ((path != NULL) != has_tokens)
        log_event(LOG_WARN, "daemon", "restart_needed",
                  (struct log_field[]){log_string("setting", "serve.tokens_file"), LOG_END});
    else if (path != NULL && server_read_tokens(server, path, &err) != RC_OK)
        log_event(LOG_ERROR, "daemon", "tokens_not_changed",
                  (struct log_field[]){log_string("reason", err.text), LOG_END});
}
