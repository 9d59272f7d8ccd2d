/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger.h - explorers, nodes and exchanges that show one chain, each in its own shape.
 *
 * A provider is the first part of a path ("/etherscan/…"). What it shows is the chain up to the
 * block it has seen, in the names of its family; which planned misfortunes meet a request is
 * decided here, by provider and endpoint. Tokens and cursors of all providers are opaque, name the
 * place they stand for, and are refused once they expired or the chain below them changed.
 *
 * Owner: the simulation.  Thread: loop. */
#ifndef SIM_LEDGER_H
#define SIM_LEDGER_H

#include "base/json.h"
#include "sim/chain_name.h"
#include "sim/fault.h"
#include "sim/http_server.h"

struct sim;

struct ledger {
    struct chain *chain;
    struct json_doc *doc; /* of the request at hand */
    uint32_t window;      /* rows that numbered pages of an explorer reach */
    uint32_t generation;  /* tokens of an earlier one have expired */
    uint64_t nonce;       /* last one of an exchange */
    void *signing_key;    /* with which a client of Coinbase signs */
};

struct ledger_call {
    struct http_exchange *exchange;
    struct sim *sim;
    struct ledger *ledger;
    const struct chain *chain;
    const char *provider;
    enum chain_family family;
    struct bytes path;                             /* behind "/provider" */
    struct bytes query;                            /* of the URL, or a form in the body */
    struct json body;                              /* absent when there is none */
    char label[96];                                /* "etherscan/token" */
    uint32_t head;                                 /* newest block this provider shows */
    bool lies_empty, partial, renumbers, withheld; /* what was planned for this request */
    struct text out;
};

typedef void ledger_serve_fn(struct ledger_call *call);

/* What clients of exchanges show and sign with. */
#define LEDGER_KRAKEN_KEY    "sim-kraken-key"
#define LEDGER_KRAKEN_SECRET "dGlkZW1hcmstc2ltLWtyYWtlbi1zZWNyZXQtMDAwMDAx"
#define LEDGER_COINBASE_KEY  "organizations/sim/apiKeys/00000000-0000-4000-8000-000000000001"

void ledger_init(struct ledger *ledger, const struct chain_options *options, uint32_t window);
void ledger_deinit(struct ledger *ledger);
void ledger_keys_init(struct ledger *ledger);
void ledger_keys_deinit(struct ledger *ledger);
/* Handles every request for a provider. */
http_handler_fn ledger_serve;

/* Lets the planned misfortunes of this endpoint happen; false when one of them was the answer. */
bool ledger_admit(struct ledger_call *call, const char *endpoint);
/* What an error in a good answer says: the text of the fault, or NULL when none is due now. */
const char *ledger_error(struct ledger_call *call, const char *usual);
/* Answers with such an error between `before` and `after`, if one is due. */
bool ledger_answers_error(struct ledger_call *call, const char *before, const char *after);
/* Answers 200 with what was written; `headers` as http_reply takes them. */
void ledger_finish(struct ledger_call *call);
void ledger_finish_with(struct ledger_call *call, const char *headers);
/* Answers with this body. */
void ledger_refuse(struct ledger_call *call, int status, const char *json);

/* A header or a parameter that has to be there and not to be "wrong". */
bool ledger_key_is_good(struct bytes key);
/* The n-th part of the path behind the provider, counted from 0; absent beyond the last. */
struct bytes ledger_part(const struct ledger_call *call, unsigned n);
/* The account of that address; CHAIN_NONE when it has no history. */
uint32_t ledger_account(const struct ledger_call *call, struct bytes address);
/* What the provider shows of a history; nothing of one that is unknown. */
struct chain_list ledger_list(const struct ledger_call *call, uint32_t account,
                              enum chain_stream stream);
/* How many of the rows that are due the page really has. */
size_t ledger_page(const struct ledger_call *call, size_t due);

/* A place in a list, as the provider's token. `bound` is what else has to stay the same. */
void ledger_token_write(const struct ledger_call *call, size_t place, uint32_t bound, char out[40]);
/* False when the token is unknown or expired. `head` is what the first page saw. */
bool ledger_token_read(struct ledger_call *call, struct bytes token, uint32_t bound, size_t *place);

/* A marker that names its place itself is shown: true when its time is up. */
bool ledger_marker_expired(struct ledger_call *call, struct json marker);

/* Members of an object, with the comma before them. */
void ledger_put_text(struct ledger_call *call, const char *key, const char *value);
void ledger_put_number(struct ledger_call *call, const char *key, uint64_t value);
void ledger_put_address(struct ledger_call *call, const char *key, uint32_t party);
void ledger_put_hash(struct ledger_call *call, const char *key, uint64_t tx_id);
void ledger_put_block_hash(struct ledger_call *call, const char *key, uint32_t block);
/* The amount of a row on EVM in the smallest unit, as decimal digits in a string. */
void ledger_put_amount(struct ledger_call *call, const char *key, const struct chain_row *row);
/* The same as a hexadecimal number, "0x…". */
void ledger_put_hex_amount(struct ledger_call *call, const char *key, const struct chain_row *row);
/* RFC 3339 of a block. */
void ledger_put_time(struct ledger_call *call, const char *key, uint32_t block);
int64_t ledger_seconds(const struct ledger_call *call, uint32_t block);
uint64_t ledger_gas_used(const struct chain_tx *tx);
uint64_t ledger_gas_price(const struct chain_tx *tx);
/* On chains that count in hundred millionths of a coin. */
uint64_t ledger_coins(const struct chain_tx *tx);
uint64_t ledger_fee(const struct chain_tx *tx);

ledger_serve_fn ledger_explorer, ledger_moralis, ledger_alchemy;

/* /_sim/ledger/… */
http_handler_fn control_ledger_accounts, control_ledger_truth, control_ledger_act,
    control_ledger_keys;

#endif
