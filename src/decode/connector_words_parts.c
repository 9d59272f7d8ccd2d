/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_words.h"

#include <stddef.h>

static const char *const verdicts[] = {"ok",      "empty",         "retry", "rate_limited", "auth",
                                       "restart", "next_provider", "fatal", "smaller",      NULL};

static const struct connector_word rpc_words[] = {
    {WORD_NAME, "method", true, offsetof(struct connector_request, rpc_method),
     .about = "the remote method"},
    {WORD_READ, "params", false, .read = connector_read_json, .takes = "a map or a list",
     .about = "its parameters"},
    {0}};
static const struct connector_block rpc_block = {"jsonrpc", "A JSON-RPC 2.0 call.", rpc_words};

static const struct connector_word request_words[] = {
    {WORD_TEXT, "method", false, offsetof(struct connector_request, method),
     .about = "`GET` or `POST`; `POST` when there is a body"},
    {WORD_SECRET_TEMPLATE, "path", false, offsetof(struct connector_request, path),
     .about = "after `base_url`; a segment whose variable is absent is left out"},
    {WORD_READ, "query", false, .read = connector_read_query, .takes = "a map of texts",
     .about = "after the path"},
    {WORD_READ, "headers", false, .read = connector_read_headers, .takes = "a map of texts",
     .about = "beside those that the body and the key need"},
    {WORD_READ, "form", false, .read = connector_read_form, .takes = "a map of texts",
     .about = "the body"},
    {WORD_READ, "json", false, .read = connector_read_json, .takes = "a map or a list",
     .about = "the body; a lone numeric variable and bare numbers, `true`, `false` "
              "and `null` stay what they are, quoted ones are texts"},
    {WORD_BLOCK, "jsonrpc", false, .block = &rpc_block, .about = "a JSON-RPC call as body"},
    {0}};
const struct connector_block connector_request_block = {
    "request",
    "Texts may name variables: `$account`, `$platform`, `$from`, `$to`, `$page`, `$offset`, "
    "`$size`, `$token`, `$now_ms`, `$nonce`, `$key`, `$part`, `$since_s`, `$account_word` (an EVM "
    "address as "
    "the 32 bytes of a topic), and constants; `$$` is a dollar sign. A key, list item or path "
    "segment whose variable is absent is left out. `$nonce` is above all that were ever sent, "
    "also after a restart with a clock that was set back.",
    request_words};

static const struct connector_word condition_words[] = {
    {WORD_READ, "status", false, .read = connector_read_statuses, .takes = "a status or a list",
     .about = "an HTTP status or a list of them (rules for responses only)"},
    {WORD_READ, "at", false, .read = connector_read_where_at, .takes = "pointer",
     .about = "a pointer into the body or the record"},
    {WORD_TEXT, "header", false, offsetof(struct connector_condition, header),
     .about = "or a header of the answer, in lower case"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_condition, cast),
     .choices = connector_cast_names, .about = "`lower`: compared in lower case"},
    {WORD_READ, "is", false, .read = connector_read_is, .takes = "text with variables",
     .about = "equal to this text"},
    {WORD_READ, "in", false, .read = connector_read_in, .takes = "a list of texts",
     .about = "equal to one of a list"},
    {WORD_READ, "not_in", false, .read = connector_read_not_in, .takes = "a list of texts",
     .about = "to none of a list"},
    {WORD_READ, "contains", false, .read = connector_read_contains, .takes = "text with variables",
     .about = "has this text in it; case does not matter"},
    {WORD_READ, "lacks", false, .read = connector_read_lacks, .takes = "text with variables",
     .about = "does not have it"},
    {WORD_READ, "exists", false, .read = connector_read_exists, .takes = "`true`, `false`",
     .about = "`true`: something is there, `false`: nothing or null is"},
    {0}};
const struct connector_block connector_condition_block = {
    "a condition",
    "One of `is`, `in`, `not_in`, `contains`, `lacks` and `exists` about one place. Numbers and "
    "booleans are compared as they are written.",
    condition_words};

static const struct connector_word where_words[] = {
    {WORD_READ, "all", false, .read = connector_read_all, .takes = "a list of conditions",
     .about = "a list; every one holds"},
    {WORD_READ, "any", false, .read = connector_read_any, .takes = "a list of conditions",
     .about = "a list; at least one holds"},
    {0}};
const struct connector_block connector_where_block = {"where", "A condition by itself, or these.",
                                                      where_words};

static const struct connector_word sum_words[] = {
    {WORD_POINTER, "each", false, offsetof(struct connector_sum, each),
     .about = "a list in the record, of which nothing is added when it is not there; without this "
              "key the record is the one item"},
    {WORD_POINTER, "at", true, offsetof(struct connector_sum, at),
     .about = "the amount, in an item"},
    {WORD_READ, "where", false, .read = connector_read_sum_where, .block = &connector_where_block,
     .about = "which items count; `^/x` points into the record"},
    {0}};
const struct connector_block connector_sum_block = {
    "a sum", "What the items of a list come to, or one place of the record.", sum_words};

static const struct connector_word field_words[] = {
    {WORD_READ, "at", false, .read = connector_read_at, .takes = "pointer",
     .about = "a pointer, or a list of them: the first that leads to something counts"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_field, cast),
     .choices = connector_cast_names, .about = "what is written there; see below"},
    {WORD_READ, "unit", false, .read = connector_read_unit, .takes = "a unit, or a map of them",
     .about = "amounts are kept in the smallest unit: `wei`, `gwei`, `ether`, `sat`, `btc`, "
              "`drops`, `xrp`, `lamport`, `sol`, `lovelace`, `ada`, `yocto`, `near`; "
              "where platforms differ, a map with the unit of each"},
    {WORD_READ, "sum", false, .read = connector_read_sum, .block = &connector_sum_block,
     .about = "of `amount` and `fee`: a list of sums, instead of `at`"},
    {WORD_READ, "less", false, .read = connector_read_less, .block = &connector_sum_block,
     .about = "a list of sums that are taken off"},
    {WORD_READ, "times", false, .read = connector_read_times, .takes = "a list of two pointers",
     .about = "of `amount` and `fee`: the product of both places, instead of `at`"},
    {WORD_READ, "const", false, .read = connector_read_const, .takes = "text with variables",
     .about = "always this text"},
    {WORD_READ, "var", false, .read = connector_read_var, .takes = "a variable's name",
     .about = "a variable, without its `$`"},
    {WORD_READ, "default", false, .read = connector_read_const, .takes = "text with variables",
     .about = "when nothing is found at `at`"},
    {WORD_READ, "when", false, .read = connector_read_status_words, .takes = "a map of words",
     .about = "of `status`: the source's word and ours (`confirmed`, `failed`, `pending`); \"\" is "
              "nothing or null"},
    {WORD_READ, "else", false, .read = connector_read_status_else,
     .takes = "`confirmed`, `failed`, `pending`",
     .about = "of `status`: for every other word; without it such a record is refused"},
    {0}};
const struct connector_block connector_field_block = {
    "a field",
    "A pointer by itself, or these. `hash`, `asset`, `amount` and `id` must be found when the "
    "identity is made of them, and `time` when there is a block; a record that lacks one, or has "
    "something else there, goes to quarantine with the reason. A `time` that is null is unknown, "
    "where positions are blocks. No block: the row is pending.",
    field_words};

static const struct connector_word response_words[] = {
    {WORD_READ, "when", true, .read = connector_read_when, .block = &connector_condition_block,
     .about = "a condition"},
    {WORD_CHOICE, "do", true, offsetof(struct connector_response, verdict), .choices = verdicts,
     .about = "what the answer is; `next_provider` without a status of its own gives way "
              "to what 401, 403, 408, 425, 429 and 5xx say; `smaller`: a range was too large, "
              "and half of it is asked for"},
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
