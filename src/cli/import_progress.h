/* SPDX-License-Identifier: Apache-2.0
 *
 * import_progress.h - how far an import is: a copy that may be kept, shown and sent elsewhere.
 *
 * A daemon prints it and a command reads it back, so both know the same of an import, whoever runs
 * it.
 *
 * Owner: the caller. */
#ifndef CLI_IMPORT_PROGRESS_H
#define CLI_IMPORT_PROGRESS_H

#include "base/json.h"
#include "base/json_write.h"
#include "source/ledger_account.h"

#define IMPORT_NAME_MAX 512 /* bytes of an account's name, with the NUL */

struct import_stream {
    char name[FAILOVER_STREAM_MAX], provider[PROVIDER_NAME_MAX];
    struct ledger_stream_view view; /* but for its name and provider */
    int64_t wait_us;                /* it waits for so long; 0: not for a time */
};

struct import_progress {
    char account[IMPORT_NAME_MAX];
    int64_t started_us;          /* of its session */
    enum ledger_outcome outcome; /* LEDGER_UNDECIDED: under way */
    char trouble[ERR_TEXT_MAX];  /* "": none */
    size_t stream_count;
    struct import_stream streams[LEDGER_STREAMS_MAX];
};

/* `now_us` is monotonic. */
void import_progress_take(struct import_progress *progress, const struct ledger_account *account,
                          int64_t now_us);
/* Adds the members of an object. */
void import_progress_print(const struct import_progress *progress, struct json_writer *json);
/* False: it is not what was printed. */
must_check bool import_progress_read(struct json root, struct import_progress *progress);

#endif
