/* SPDX-License-Identifier: Apache-2.0
 *
 * connector.h - a provider as data: how it is asked, what it answers, how its records become rows.
 *
 * A connector is one YAML file in a closed vocabulary without expressions. Always holds for one
 * that was loaded: every key was known, every name it uses is defined, every number is within its
 * bounds; so nothing that follows has to be checked again. It never changes afterwards.
 *
 * Owner: who loaded it.  Thread: any.  Pure: no I/O, no clock, no log. */
#ifndef DECODE_CONNECTOR_H
#define DECODE_CONNECTOR_H

#include "base/arena.h"
#include "base/err.h"
#include "decode/connector_stream.h"

#define CONNECTOR_BYTES_MAX      65536
#define CONNECTOR_STREAMS_MAX    32
#define CONNECTOR_PLATFORMS_MAX  128
#define CONNECTOR_PARTITIONS_MAX 16
#define CONNECTOR_ACCOUNT_MAX    256 /* bytes of an identifier */

enum connector_identifier {
    IDENTIFIER_NONE, /* an exchange: the platform alone names the account */
    IDENTIFIER_TEXT,
    IDENTIFIER_EVM_ADDRESS,
    IDENTIFIER_BITCOIN_ADDRESS,
    IDENTIFIER_BASE58,
    IDENTIFIER_BECH32,
    IDENTIFIER_SS58,
    IDENTIFIER_PATH, /* parts with slashes between them, which stay slashes in a URL's path */
};
enum connector_auth { AUTH_NONE, AUTH_QUERY, AUTH_HEADER, AUTH_BEARER, AUTH_PATH };
enum connector_sign { SIGN_NONE, SIGN_KRAKEN, SIGN_COINBASE };

struct connector_platform {
    const char *name;
    const struct connector_value *constants; /* a map of texts, or NULL */
};

/* All of these hold at once; 0: no such limit. */
struct connector_rate {
    int64_t per_1000_seconds; /* `per_second: 0.4` is 400 */
    int64_t per_minute, per_hour, per_day;
    int64_t burst, concurrency;
};

struct connector {
    const char *file, *provider;
    const struct connector_platform *platforms;
    size_t platform_count;
    enum connector_identifier identifier;
    struct connector_template base_url;
    const char *const *hosts; /* beside the one of the address in force */
    size_t host_count;
    struct {
        enum connector_auth in;
        const char *name;
        struct connector_template value;
        bool required;
    } auth;
    enum connector_sign sign;
    bool uses_nonce; /* its requests are numbered */
    struct connector_rate rate;
    int64_t timeout_ms, priority;
    int64_t replay_blocks, replay_us; /* how far another provider's position is rewound, once */
    int64_t settle_blocks; /* how far back a new run reads again, to find what a reorg took */
    const struct connector_stream *streams; /* in the order of the file */
    size_t stream_count;
    struct arena memory; /* what all of this points at */
};

/* RC_REJECT: "file:line:column: what is wrong there and what was expected". `file` is only for
 * that sentence. */
must_check enum rc connector_load(struct bytes yaml, const char *file, struct connector **out,
                                  struct err *err);
void connector_free(struct connector *connector);

/* NULL when the connector has none of that name. */
const struct connector_platform *connector_platform(const struct connector *connector,
                                                    struct bytes name);
const struct connector_stream *connector_stream(const struct connector *connector,
                                                struct bytes name);
bool connector_stream_serves(const struct connector_stream *stream, struct bytes platform);
/* The stream whose files have these columns ("a,b,c"); NULL: a file of some other kind. */
const struct connector_stream *connector_csv_stream(const struct connector *connector,
                                                    struct bytes columns);
/* Writes the identifier in the one form that stands for the account (an EVM address in lower case)
 * over what `out` holds. RC_REJECT: it cannot be one. */
must_check enum rc connector_identifier_read(enum connector_identifier kind, struct bytes text,
                                             struct text *out, struct err *err);
/* A request cannot be made without a key (and a secret, where requests are signed). */
bool connector_needs_key(const struct connector *connector);

/* The whole vocabulary as Markdown. */
void connector_docs(struct text *out);

#endif
