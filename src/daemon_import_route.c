/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_import_route.h"

#include "base/timestamp.h"
#include "base/utf8.h"
#include "cli/import_result.h"

#include <stdlib.h>

struct progress_call {
    struct import_board *board;
    char account[IMPORT_NAME_MAX];
    int64_t started_us;
    bool known, over;
    struct import_progress progress;
    struct text result, words;
};

static void free_call(void *data)
{
    struct progress_call *call = data;
    text_free(&call->result);
    text_free(&call->words);
    free(call);
}

void import_progress_begin(struct request *request, struct import_board *board)
{
    struct progress_call *call = memory_new_zeroed(1, sizeof *call);
    struct json root;
    struct bytes account, started;
    request->data = call;
    request->free_data = free_call;
    call->board = board;
    if (!request_parse_body(request, &root))
        return;
    if (!json_string(json_get(root, "account"), &account) || account.len == 0 ||
        account.len >= sizeof call->account ||
        !json_string(json_get(root, "startedAt"), &started) ||
        !timestamp_parse(started, &call->started_us))
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "import-progress takes an account and startedAt, as import answered them");
    else
        utf8_copy(account, call->account, sizeof call->account);
}

enum rc import_progress_work(struct request *request, struct store *store, struct err *err)
{
    struct progress_call *call = request->data;
    call->known = import_board_get(call->board, call->account, &call->progress);
    call->over = call->known && call->progress.outcome != LEDGER_UNDECIDED &&
                 call->progress.started_us >= call->started_us;
    if (!call->over)
        return RC_OK;
    struct import_result result = import_result_take(&call->progress);
    enum rc rc = import_result_json(store, &result, &call->result, err);
    if (rc == RC_OK)
        rc = import_result_words(store, &result, &call->words, err);
    import_results_free(&result, 1);
    return rc;
}

void import_progress_finish(struct request *request)
{
    struct progress_call *call = request->data;
    struct json_writer writer;
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    if (!call->known) {
        request_refuse(request, REFUSAL_UNAVAILABLE,
                       "the daemon has begun anew and knows nothing of this import; "
                       "import_sessions tells what became of it");
        return;
    }
    request_begin_json(request, &writer);
    import_progress_print(&call->progress, &writer);
    if (call->over) {
        json_key(&writer, "result");
        json_put_raw(&writer, bytes_make(call->result.data, call->result.len - 1));
        json_key(&writer, "words");
        json_put_string(&writer, text_bytes(&call->words));
    }
    request_send_json(request, &writer);
}
