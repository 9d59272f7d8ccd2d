/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_words.h"

#include <stddef.h>

static const char *const verdicts[] = {
    "ok", "empty", "retry", "rate_limited", "auth", "restart", "next_provider", "fatal", NULL};

static const struct connector_word rpc_words[] = {
    {WORD_NAME, "method", true, offsetof(struct connector_request, rpc_method),
     .about = "the remote method"},
    {WORD_READ, "params", false, .read = connector_read_json, .about = "a list or a map"},
    {0}};
static const struct connector_block rpc_block = {"jsonrpc", "A JSON-RPC 2.0 call.", rpc_words};

static const struct connector_word request_words[] = {
    {WORD_TEXT, "method", false, offsetof(struct connector_request, method),
     .about = "`GET` or `POST`; `POST` when there is a body"},
    {WORD_SECRET_TEMPLATE, "path", false, offsetof(struct connector_request, path),
     .about = "after `base_url`; a segment whose variable is absent is left out"},
    {WORD_READ, "query", false, .read = connector_read_query, .about = "a map of texts"},
    {WORD_READ, "headers", false, .read = connector_read_headers, .about = "a map of texts"},
    {WORD_READ, "form", false, .read = connector_read_form, .about = "a map of texts as body"},
    {WORD_READ, "json", false, .read = connector_read_json,
     .about = "a map or list as body; a lone numeric variable and bare numbers, `true`, `false` "
              "and `null` stay what they are, quoted ones are texts"},
    {WORD_BLOCK, "jsonrpc", false, .block = &rpc_block, .about = "a JSON-RPC call as body"},
    {0}};
const struct connector_block connector_request_block = {
    "request",
    "Texts may name variables: `$account`, `$platform`, `$from`, `$to`, `$page`, `$offset`, "
    "`$size`, `$token`, `$now_ms`, `$nonce`, `$key`, `$part`, and constants; `$$` is a dollar "
    "sign. A key, list item or path segment whose variable is absent is left out.",
    request_words};

static const struct connector_word condition_words[] = {
    {WORD_READ, "status", false, .read = connector_read_statuses,
     .about = "an HTTP status or a list of them (rules for responses only)"},
    {WORD_READ, "at", false, .read = connector_read_where_at,
     .about = "a pointer into the body or the record"},
    {WORD_TEXT, "header", false, offsetof(struct connector_condition, header),
     .about = "or a header of the answer, in lower case"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_condition, cast),
     .choices = connector_cast_names, .about = "`lower`: compared in lower case"},
    {WORD_READ, "is", false, .read = connector_read_is, .about = "equal to this text"},
    {WORD_READ, "in", false, .read = connector_read_in, .about = "equal to one of a list"},
    {WORD_READ, "not_in", false, .read = connector_read_not_in, .about = "to none of a list"},
    {WORD_READ, "contains", false, .read = connector_read_contains,
     .about = "has this text in it; case does not matter"},
    {WORD_READ, "exists", false, .read = connector_read_exists,
     .about = "`true`: something is there, `false`: nothing or null is"},
    {0}};
const struct connector_block connector_condition_block = {
    "a condition",
    "One of `is`, `in`, `not_in`, `contains` and `exists` about one place. Numbers and booleans "
    "are compared as they are written.",
    condition_words};

static const struct connector_word where_words[] = {
    {WORD_READ, "all", false, .read = connector_read_all, .about = "a list; every one holds"},
    {WORD_READ, "any", false, .read = connector_read_any, .about = "a list; at least one holds"},
    {0}};
const struct connector_block connector_where_block = {"where", "A condition by itself, or these.",
                                                      where_words};

static const struct connector_word field_words[] = {
    {WORD_READ, "at", false, .read = connector_read_at,
     .about = "a pointer, or a list of them: the first that leads to something counts"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_field, cast),
     .choices = connector_cast_names, .about = "what is written there; see below"},
    {WORD_READ, "unit", false, .read = connector_read_unit,
     .about = "amounts are kept in the smallest unit: `wei`, `gwei`, `ether`, `sat`, `btc`, "
              "`drops`, `xrp`, `lamport`, `sol`, `lovelace`, `ada`, `yocto`, `near`"},
    {WORD_READ, "const", false, .read = connector_read_const, .about = "always this text"},
    {WORD_READ, "var", false, .read = connector_read_var, .about = "a variable, without its `$`"},
    {WORD_READ, "default", false, .read = connector_read_const,
     .about = "when nothing is found at `at`"},
    {WORD_READ, "when", false, .read = connector_read_status_words,
     .about = "of `status`: the source's word and ours (`confirmed`, `failed`, `pending`); \"\" is "
              "nothing or null"},
    {WORD_READ, "else", false, .read = connector_read_status_else,
     .about = "of `status`: for every other word; without it such a record is refused"},
    {0}};
const struct connector_block connector_field_block = {
    "a field",
    "A pointer by itself, or these. `hash`, `asset`, `amount` and `id` must be found when the "
    "identity is made of them, and `time` when there is a block; a record that lacks one, or has "
    "something else there, goes to quarantine with the reason. No block: the row is pending.",
    field_words};

static const struct connector_word response_words[] = {
    {WORD_READ, "when", true, .read = connector_read_when, .block = &connector_condition_block,
     .about = "a condition"},
    {WORD_CHOICE, "do", true, offsetof(struct connector_response, verdict), .choices = verdicts,
     .about = "what the answer is"},
    {WORD_COUNT, "wait_seconds", false, offsetof(struct connector_response, wait_ms), 1, 86400,
     .times = 1000, .about = "how long to leave the source alone"},
    {0}};
const struct connector_block connector_response_block = {
    "a response rule",
    "Where no rule matches: 2xx is ok, 408, 425, 429 and 5xx are tried again, 401 and 403 are "
    "about "
    "the key, anything else is fatal.",
    response_words};

static const struct connector_word list_words[] = {
    {WORD_READ, "request", true, offsetof(struct connector_stream, listed.request),
     .read = connector_read_request, .block = &connector_request_block,
     .about = "asked with `$token` for every page after the first"},
    {WORD_POINTER, "records", true, offsetof(struct connector_stream, listed.records),
     .about = "where the list is"},
    {WORD_POINTER, "value", true, offsetof(struct connector_stream, listed.value),
     .about = "what `$part` is, in each of its items"},
    {WORD_POINTER, "next", false, offsetof(struct connector_stream, listed.next),
     .about = "the token of the list's next page; absent or null: that was all"},
    {0}};
const struct connector_block connector_list_block = {
    "list", "Partitions that the source lists itself: a walk for each of them.", list_words};

static const struct connector_word partition_words[] = {
    {WORD_BLOCK, "list", true, .block = &connector_list_block, .about = "how they are listed"},
    {0}};
const struct connector_block connector_partition_block = {"partitions", "", partition_words};
