/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_words.h"

#include <stddef.h>

const char *const connector_field_names[] = {"hash",   "block",    "time",   "from", "to",
                                             "asset",  "token_id", "amount", "fee",  "id",
                                             "status", "platform", "kind",   "row",  NULL};
const char *const connector_cast_names[] = {
    "str",     "dec",     "hex",     "lower",    "bool", "unix_s", "unix_ms", "unix_us",
    "unix_ns", "rfc3339", "csv_utc", "ripple_s", "date", "json",   "address", NULL};
const char *const connector_variable_names[] = {
    "",       "account", "platform", "from", "to",   "page",         "offset",  "size", "token",
    "now_ms", "nonce",   "api_key",  "key",  "part", "account_word", "since_s", NULL};
const char *const connector_status_names[] = {"confirmed", "failed", "pending", NULL};

static const char *const identifiers[] = {
    "none", "text", "evm_address", "bitcoin_address", "base58", "bech32", "ss58", "path", NULL};
static const char *const auth_places[] = {"none", "query", "header", "bearer", "path", NULL};
static const char *const signers[] = {"none", "kraken", "coinbase", NULL};
static const char *const orders[] = {"asc", "desc", "none", NULL};
static const char *const pagings[] = {"none", "number", "offset", "token",
                                      "link", "keyset", "range",  NULL};
static const char *const next_places[] = {"none", "body", "header", "last_record", NULL};
static const char *const resumes[] = {"none", "blockNumber", "slot", "timestamp", NULL};
static const char *const shapes[] = {"array", "values", "entries", NULL};
static const char *const when_absent[] = {"error", "empty", NULL};
static const char *const detail_absent[] = {"error", "owed", NULL};

/* ---- the file ---- */

static const struct connector_word auth_words[] = {
    {WORD_CHOICE, "in", true, offsetof(struct connector, auth.in), .choices = auth_places,
     .about = "where the key goes; `path`: where a path names `$api_key`"},
    {WORD_TEXT, "name", false, offsetof(struct connector, auth.name),
     .about = "the parameter or header"},
    {WORD_SECRET_TEMPLATE, "value", false, offsetof(struct connector, auth.value),
     .about = "what is sent; `$api_key` when nothing is said"},
    {WORD_FLAG, "required", false, offsetof(struct connector, auth.required),
     .about = "without a key the provider is not used"},
    {0}};
static const struct connector_block auth_block = {"auth", "The provider's key.", auth_words};

static const struct connector_word rate_words[] = {
    {WORD_THOUSANDTHS, "per_second", false, offsetof(struct connector, rate.per_1000_seconds), 1,
     1000000, .about = "requests per second; may have decimals"},
    {WORD_COUNT, "per_minute", false, offsetof(struct connector, rate.per_minute), 1, 1000000,
     .about = "per minute"},
    {WORD_COUNT, "per_hour", false, offsetof(struct connector, rate.per_hour), 1, 1000000,
     .about = "per hour"},
    {WORD_COUNT, "per_day", false, offsetof(struct connector, rate.per_day), 1, 1000000,
     .about = "per day"},
    {WORD_COUNT, "burst", false, offsetof(struct connector, rate.burst), 1, 10000,
     .about = "requests that may go at once after a pause; 1"},
    {WORD_COUNT, "concurrency", false, offsetof(struct connector, rate.concurrency), 1, 64,
     .about = "requests under way at once; 1"},
    {0}};
static const struct connector_block rate_block = {
    "rate", "What the provider allows. All windows hold at once.", rate_words};

static const struct connector_word replay_words[] = {
    {WORD_COUNT, "blocks", false, offsetof(struct connector, replay_blocks), 0, 1000000,
     .about = "blocks or slots"},
    {WORD_THOUSANDTHS, "seconds", false, offsetof(struct connector, replay_us), 0, 86400000,
     .times = 1000, .about = "for positions that are times"},
    {0}};
static const struct connector_block replay_block = {
    "replay", "How far back from another provider's position this one begins, once.", replay_words};

static const struct connector_word file_words[] = {
    {WORD_READ, "version", true, .read = connector_read_version, .takes = "`1`",
     .about = "of this vocabulary"},
    {WORD_NAME, "provider", true, offsetof(struct connector, provider),
     .about = "the provider's name, also under `providers:` in the configuration"},
    {WORD_READ, "platforms", true, .read = connector_read_platforms, .takes = "a map of names",
     .about = "what it serves (`ethereum` of `ethereum:0x...`), each with constants that requests "
              "and mappings name as `$name`"},
    {WORD_CHOICE, "identifier", true, offsetof(struct connector, identifier),
     .choices = identifiers,
     .about = "what stands after the platform in an account; `none`: nothing does"},
    {WORD_TEMPLATE, "base_url", false, offsetof(struct connector, base_url),
     .about = "scheme, host and path prefix; needed unless all streams are files"},
    {WORD_READ, "hosts", false, .read = connector_read_hosts, .takes = "a list of names",
     .about = "further hosts that links to a next page may lead to; redirects are not followed"},
    {WORD_BLOCK, "auth", false, .block = &auth_block, .about = "the key"},
    {WORD_CHOICE, "sign", false, offsetof(struct connector, sign), .choices = signers,
     .about = "how requests are signed"},
    {WORD_BLOCK, "rate", false, .block = &rate_block, .about = "how fast it may be asked"},
    {WORD_COUNT, "timeout_seconds", false, offsetof(struct connector, timeout_ms), 1, 300,
     .times = 1000, .about = "for one request; 30"},
    {WORD_COUNT, "priority", false, offsetof(struct connector, priority), 0, 1000,
     .about = "lower is preferred; 100"},
    {WORD_BLOCK, "replay", false, .block = &replay_block,
     .about = "the overlap after a change of provider"},
    {WORD_COUNT, "settle_blocks", false, offsetof(struct connector, settle_blocks), 0, 100000,
     .about = "how far back a new run reads again, to find what a reorg took"},
    {WORD_READ, "responses", false, .read = connector_read_responses,
     .block = &connector_response_block,
     .about = "a list of rules for all streams, after their own"},
    {WORD_READ, "streams", true, .read = connector_read_streams, .block = &connector_stream_block,
     .about = "the streams by name"},
    {0}};
const struct connector_block connector_file_block = {
    "the file", "One provider. Keys that are not listed here are errors.", file_words};

/* ---- a stream ---- */

static const struct connector_word next_words[] = {
    {WORD_CHOICE, "from", true, offsetof(struct connector_stream, page.next),
     .choices = next_places, .about = "where the next page's token is read"},
    {WORD_TEXT, "at", true, offsetof(struct connector_stream, page.next_at),
     .about = "a pointer (into the body or the last record), or the header's name"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_stream, page.next_cast),
     .choices = connector_cast_names,
     .about = "`json`: the token is JSON and is sent as such; else text"},
    {WORD_COUNT, "add", false, offsetof(struct connector_stream, page.next_add), 0, 1,
     .about = "to the number read there: 1 where a source leaves the named position out"},
    {0}};
static const struct connector_block next_block = {
    "next", "Where a page says how to go on. A `link` is the one with `rel=\"next\"`.", next_words};

static const struct connector_word page_words[] = {
    {WORD_CHOICE, "by", true, offsetof(struct connector_stream, page.by), .choices = pagings,
     .about = "`number` counts pages, `offset` rows; `token` and `link` come from the page before; "
              "`keyset` goes on from the last position, inclusive; `range` asks for `size` blocks "
              "at a time, `$from` to `$to`, up to the `head`"},
    {WORD_COUNT, "size", false, offsetof(struct connector_stream, page.size), 1, 100000,
     .about = "records of a full page, `$size`; of `range` the blocks of a page"},
    {WORD_COUNT, "first", false, offsetof(struct connector_stream, page.first), 0, 1,
     .about = "what the first page or row is called; 1 for `number`, else 0"},
    {WORD_BLOCK, "next", false, .block = &next_block, .about = "of `token` and `link`"},
    {WORD_READ, "stop", false, .read = connector_read_stop, .takes = "a list of rules",
     .about = "any of `short_page`, `empty`, `token_absent`, `{flag: CONDITION}`; one that holds "
              "ends the walk"},
    {WORD_COUNT, "window_max", false, offsetof(struct connector_stream, page.window_max), 1,
     100000000,
     .about = "rows that can be paged over; then the walk goes on from the last position"},
    {WORD_COUNT, "token_minutes", false, offsetof(struct connector_stream, page.token_ms), 1,
     100000, .times = 60000, .about = "older tokens are not used"},
    {0}};
static const struct connector_block page_block = {"page", "How the pages follow each other.",
                                                  page_words};

static const struct connector_word resume_words[] = {
    {WORD_CHOICE, "kind", true, offsetof(struct connector_stream, resume.kind), .choices = resumes,
     .about = "what `$from` is"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_stream, resume.cast),
     .choices = connector_cast_names,
     .about = "how it is written: `dec`, `hex`; of a time `unix_s`, `unix_ms`, `unix_us`, "
              "`unix_ns`, `rfc3339`, `date`"},
    {WORD_FLAG, "exclusive", false, offsetof(struct connector_stream, resume.exclusive),
     .about =
         "the source leaves the position itself out, so one less is asked for; of a `date`, the "
         "day before"},
    {0}};
static const struct connector_block resume_block = {
    "resume", "Where a walk can begin; `{kind: none}`: only at the source's own beginning.",
    resume_words};

static const struct connector_word records_words[] = {
    {WORD_POINTER, "at", true, offsetof(struct connector_stream, records.at),
     .about = "where the records are; \"\" is the answer itself"},
    {WORD_CHOICE, "shape", false, offsetof(struct connector_stream, records.shape),
     .choices = shapes, .about = "a list, the values of a map, or its entries"},
    {WORD_NAME, "key_as", false, offsetof(struct connector_stream, records.key_as),
     .about = "of `entries`: the key is put into the record under this name"},
    {WORD_POINTER, "each", false, offsetof(struct connector_stream, records.each),
     .about = "a list in the record; each of its items is a row, and `^/x` points into the record"},
    {WORD_CHOICE, "absent", false, offsetof(struct connector_stream, records.absent),
     .choices = when_absent, .about = "what it means when nothing is there"},
    {0}};
static const struct connector_block records_block = {"records", "Where the records are.",
                                                     records_words};

static const struct connector_word identity_words[] = {
    {WORD_READ, "of", true, .read = connector_read_identity, .takes = "a list of fields",
     .about = "a list of `platform`, `kind`, `hash`, `from`, `to`, `asset`, `token_id`, `amount`, "
              "`id`, `row`; `row` is the record as it came"},
    {WORD_CHOICE, "equals", false, offsetof(struct connector_stream, equals),
     .choices = (const char *const[]){"none", "block", "file", NULL},
     .about = "rows that are equal in this are counted within the block, within the file, or are "
              "one row"},
    {0}};
static const struct connector_block identity_block = {
    "identity", "What a row is told by, whoever tells it.", identity_words};

static const struct connector_word detail_words[] = {
    {WORD_READ, "request", true, offsetof(struct connector_stream, detail.request),
     .read = connector_read_request, .block = &connector_request_block,
     .about = "asked with `$key`"},
    {WORD_POINTER, "at", true, offsetof(struct connector_stream, detail.pointer),
     .about = "what is taken from its answer"},
    {WORD_POINTER, "for_each", true, offsetof(struct connector_stream, detail.for_each),
     .about = "what `$key` is, in the record"},
    {WORD_CHOICE, "absent", false, offsetof(struct connector_stream, detail.absent),
     .choices = detail_absent,
     .about = "no answer, or one that a rule calls `empty`: fail, or keep the record and owe "
              "the rest"},
    {0}};
static const struct connector_block detail_block = {
    "detail", "One more request per record; its answer goes under the record's key `detail`.",
    detail_words};

static const struct connector_word count_words[] = {
    {WORD_READ, "request", false, offsetof(struct connector_stream, count.request),
     .read = connector_read_request, .block = &connector_request_block,
     .about = "without it the page itself is looked at"},
    {WORD_POINTER, "at", true, offsetof(struct connector_stream, count.pointer),
     .about = "where the total stands"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_stream, count.cast),
     .choices = connector_cast_names, .about = "`dec` or `hex`"},
    {0}};
static const struct connector_block count_block = {
    "count", "A total that a complete walk is compared with.", count_words};

static const struct connector_word head_words[] = {
    {WORD_READ, "request", true, offsetof(struct connector_stream, head.request),
     .read = connector_read_request, .block = &connector_request_block, .about = "how it is asked"},
    {WORD_POINTER, "at", true, offsetof(struct connector_stream, head.pointer),
     .about = "where the number stands"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_stream, head.cast),
     .choices = connector_cast_names, .about = "`dec` or `hex`"},
    {0}};
static const struct connector_block head_block = {"head", "The newest block the provider knows.",
                                                  head_words};

static const struct connector_word since_words[] = {
    {WORD_READ, "request", true, offsetof(struct connector_stream, since.request),
     .read = connector_read_request, .block = &connector_request_block,
     .about = "how it is asked; `$since_s` is the time, in seconds"},
    {WORD_POINTER, "at", true, offsetof(struct connector_stream, since.pointer),
     .about = "where the number stands"},
    {WORD_CHOICE, "cast", false, offsetof(struct connector_stream, since.cast),
     .choices = connector_cast_names, .about = "`dec` or `hex`"},
    {0}};
static const struct connector_block since_block = {
    "since",
    "The block that was the newest at a time. Without it an import since a time reads older "
    "rows, too, and leaves them out.",
    since_words};

static const struct connector_word csv_words[] = {
    {WORD_TEXT, "header", true, offsetof(struct connector_stream, csv.header),
     .about = "the file's first line; case does not matter"},
    {WORD_FLAG, "skip", false, offsetof(struct connector_stream, csv.skip),
     .about = "known, and nothing of a ledger"},
    {0}};
static const struct connector_block csv_block = {
    "csv", "A file instead of requests. Columns become members of the record, by name.", csv_words};

static const struct connector_word stream_words[] = {
    {WORD_NAME, "kind", false, offsetof(struct connector_stream, kind),
     .about = "the kind of its rows, part of their identity; the stream's name"},
    {WORD_READ, "platforms", false, .read = connector_read_stream_platforms,
     .takes = "a list of names",
     .about = "a list of those that have this stream; all, when nothing is said"},
    {WORD_READ, "partitions", false, .read = connector_read_partitions,
     .block = &connector_list_block,
     .about = "the same walk with other constants: a list of maps of texts, or `{list: ...}`"},
    {WORD_READ, "request", false, offsetof(struct connector_stream, request),
     .read = connector_read_request, .block = &connector_request_block,
     .about = "how a page is asked for"},
    {WORD_BLOCK, "csv", false, .block = &csv_block, .about = "or what its files look like"},
    {WORD_CHOICE, "order", false, offsetof(struct connector_stream, order), .choices = orders,
     .about = "of the records as delivered"},
    {WORD_BLOCK, "page", false, .block = &page_block, .about = "how pages follow each other"},
    {WORD_BLOCK, "resume", false, .block = &resume_block,
     .about = "where a walk can begin; needed with `request`"},
    {WORD_BLOCK, "records", false, .block = &records_block, .about = "where the records are"},
    {WORD_READ, "where", false, .read = connector_read_where, .block = &connector_where_block,
     .about = "which records are of this stream; the others are counted, not kept"},
    {WORD_READ, "map", false, .read = connector_read_map, .block = &connector_field_block,
     .about = "the row's fields: `hash`, `block`, `time`, `from`, `to`, `asset`, `token_id`, "
              "`amount`, `fee`, `id`, `status`"},
    {WORD_BLOCK, "identity", false, .block = &identity_block, .about = "what a row is told by"},
    {WORD_READ, "responses", false, .read = connector_read_responses,
     .block = &connector_response_block, .about = "a list of rules; the first that matches counts"},
    {WORD_BLOCK, "detail", false, .block = &detail_block, .about = "one more request per record"},
    {WORD_BLOCK, "count", false, .block = &count_block, .about = "a total to compare with"},
    {WORD_BLOCK, "head", false, .block = &head_block,
     .about = "the provider's newest block; needed with `range`"},
    {WORD_BLOCK, "since", false, .block = &since_block, .about = "the block of a time"},
    {0}};
const struct connector_block connector_stream_block = {
    "a stream", "One list of records, walked page by page.", stream_words};
