/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_backfill_route.h"

#include "base/json_member.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "source/feed_place.h"

#include <assert.h>
#include <stdlib.h>

#define PLACE_BYTES 65536
#define WHY_BYTES   256

struct progress_call {
    char did[AT_DID_MAX + 1];
    bool queued;
    int64_t since_us, attempts, next_us, ahead;
    struct feed_place place;
    char why[WHY_BYTES]; /* of a reading that is tried again, or how the account stands */
    bool gone;
};

void backfill_progress_begin(struct request *request)
{
    struct progress_call *call = memory_new_zeroed(1, sizeof *call);
    struct json root;
    struct bytes did;
    request->data = call;
    request->free_data = free;
    if (!request_parse_body(request, &root))
        return;
    if (!json_string(json_get(root, "did"), &did) || did.len == 0 || did.len >= sizeof call->did)
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "backfill-progress takes a did, as backfill answered it");
    else
        utf8_copy(did, call->did, sizeof call->did);
}

static void read_place(struct bytes sweep, struct feed_place *place)
{
    struct json_doc *doc = json_doc_new(PLACE_BYTES, JSON_DEPTH_MAX);
    struct json root;
    struct err ignored;
    if (json_parse_copy(doc, sweep, &root, &ignored) == RC_OK)
        (void)feed_place_read(root, place);
    json_doc_free(doc);
}

static bool take_queued(void *arg, const struct field *columns, size_t count)
{
    struct progress_call *call = arg;
    assert(count == 6);
    call->queued = true;
    call->since_us = columns[0].i;
    call->attempts = columns[1].i;
    call->next_us = columns[2].i;
    if (!columns[3].null)
        utf8_copy(columns[3].b, call->why, sizeof call->why);
    if (!columns[4].null)
        read_place(columns[4].b, &call->place);
    call->ahead = columns[5].i;
    return false;
}

static bool take_standing(void *arg, const struct field *columns, size_t count)
{
    struct progress_call *call = arg;
    assert(count == 2);
    call->gone = columns[0].i == 0;
    if (!columns[1].null)
        utf8_copy(columns[1].b, call->why, sizeof call->why);
    return false;
}

enum rc backfill_progress_work(struct request *request, struct store *store, struct err *err)
{
    struct progress_call *call = request->data;
    const struct field did = field_text(bytes_of(call->did));
    enum rc rc = store_query(store,
                             "SELECT q.since_us, q.attempts, q.next_us, q.reason, q.sweep, "
                             "(SELECT count(*) FROM backfill_queue b WHERE b.priority < q.priority "
                             "OR (b.priority = q.priority AND b.queued_us < q.queued_us)) "
                             "FROM backfill_queue q WHERE q.actor_did = ?1",
                             &did, 1, take_queued, call, err);
    if (rc == RC_OK && !call->queued)
        rc = store_query(store, "SELECT active, status FROM actors WHERE did = ?1", &did, 1,
                         take_standing, call, err);
    return rc;
}

static void put_time(struct json_writer *json, const char *key, int64_t us)
{
    char date[TIMESTAMP_TEXT_MAX];
    json_member_cstring(json, key, us > 0 && timestamp_format(us, date) ? date : NULL);
}

static const char *state_of(const struct progress_call *call)
{
    if (!call->queued)
        return call->gone ? "gone" : "read";
    if (call->attempts > 0)
        return "again";
    return call->place.reached_us > 0 ? "reading" : "waiting";
}

void backfill_progress_finish(struct request *request)
{
    struct progress_call *call = request->data;
    struct json_writer writer;
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    request_begin_json(request, &writer);
    json_member_cstring(&writer, "did", call->did);
    json_member_cstring(&writer, "state", state_of(call));
    json_member_i64(&writer, "ahead", call->ahead);
    put_time(&writer, "sinceAt", call->since_us);
    put_time(&writer, "beganAt", call->place.began_us);
    put_time(&writer, "reachedAt", call->place.reached_us);
    json_member_i64(&writer, "attempts", call->attempts);
    put_time(&writer, "nextAt", call->queued ? call->next_us : 0);
    json_member_cstring(&writer, "why", call->attempts > 0 || call->gone ? call->why : NULL);
    request_send_json(request, &writer);
}
