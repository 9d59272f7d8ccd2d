/* SPDX-License-Identifier: Apache-2.0
 *
 * import_result.h - what an import has brought, as the store tells it.
 *
 * Owner: the command. */
#ifndef CLI_IMPORT_RESULT_H
#define CLI_IMPORT_RESULT_H

#include "cli/import_progress.h"
#include "store/store.h"

/* Exit codes beside those of all commands. */
enum { IMPORT_NO_KEY = 3, IMPORT_RESUMABLE = 4, IMPORT_INTERRUPTED = 130 };

/* One account's import. */
struct import_result {
    char *account;
    int64_t started_us; /* its session */
    enum ledger_outcome outcome;
    char *trouble; /* "": none; NULL: said already */
    uint64_t orphaned, refused, older, owed;
    int refusal; /* the exit code of one that was never begun; 0: it was */
};

/* From an import that is over; `account` and `trouble` are copies, freed by import_results_free. */
struct import_result import_result_take(const struct import_progress *progress);
void import_results_free(struct import_result *results, size_t count);
/* Says on stderr what went wrong; the exit code of the worst. */
int import_results_judge(const struct import_result *results, size_t count);

/* Appends one JSON object and a line's end, or lines for people. */
must_check enum rc import_result_json(struct store *store, const struct import_result *result,
                                      struct text *out, struct err *err);
must_check enum rc import_result_words(struct store *store, const struct import_result *result,
                                       struct text *out, struct err *err);

#endif
