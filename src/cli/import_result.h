/* SPDX-License-Identifier: Apache-2.0
 *
 * import_result.h - what an import has brought, as the store tells it.
 *
 * Owner: the command. */
#ifndef CLI_IMPORT_RESULT_H
#define CLI_IMPORT_RESULT_H

#include "source/ledger_stream.h"
#include "store/store.h"

/* One account's import. */
struct import_result {
    char *account;
    int64_t started_us; /* its session */
    enum ledger_outcome outcome;
    char *trouble; /* "": none */
    uint64_t orphaned, refused;
};

/* Appends one JSON object and a line's end, or lines for people. */
must_check enum rc import_result_json(struct store *store, const struct import_result *result,
                                      struct text *out, struct err *err);
must_check enum rc import_result_words(struct store *store, const struct import_result *result,
                                       struct text *out, struct err *err);

#endif
