/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jetstream_event.h"

#include "base/timestamp.h"
#include "decode/at_uri.h"
#include "decode/post_record.h"

#include <assert.h>
#include <string.h>

#define REV_MAX    64
#define HANDLE_MAX 253
#define CID_MAX    128

static enum rc want_string(struct json object, const char *key, size_t max, struct bytes *out,
                           struct err *err)
{
    if (!json_string(json_get(object, key), out))
        return err_set(err, RC_REJECT, "event has no string \"%s\"", key);
    if (out->len == 0 || out->len > max)
        return err_set(err, RC_REJECT, "\"%s\" has %zu bytes, 1 to %zu are allowed", key, out->len,
                       max);
    return RC_OK;
}

/* Fills a record by steps and takes it out again as soon as one does not fit. */
static bool fill_text(struct batch *batch, struct record **record, unsigned field,
                      struct bytes value)
{
    if (*record == NULL)
        return false;
    if (batch_set_text(batch, *record, field, value))
        return true;
    batch_drop_last(batch, *record);
    *record = NULL;
    return false;
}

static int64_t believed(int64_t time_us, const struct jetstream_terms *terms)
{
    return time_us <= terms->until_us ? time_us : terms->instead_us;
}

struct commit_names {
    struct bytes rev, operation, collection, rkey;
};

static enum rc read_names(struct json commit, struct commit_names *names, struct err *err)
{
    enum rc rc = want_string(commit, "rev", REV_MAX, &names->rev, err);
    if (rc == RC_OK)
        rc = want_string(commit, "operation", 16, &names->operation, err);
    if (rc == RC_OK)
        rc = want_string(commit, "collection", AT_COLLECTION_MAX, &names->collection, err);
    if (rc == RC_OK)
        rc = want_string(commit, "rkey", AT_RKEY_MAX, &names->rkey, err);
    return rc;
}

/* It is optional, and one that cannot be true is none. */
static struct bytes read_cid(struct json commit)
{
    struct bytes cid = json_string_or_absent(json_get(commit, "cid"));
    return cid.len > CID_MAX ? BYTES_ABSENT : cid;
}

static enum rc decode_commit(struct json commit, const struct jetstream_terms *terms,
                             struct batch *batch, struct jetstream_event *event, struct err *err)
{
    struct commit_names names;
    struct post_output out;
    enum rc rc = read_names(commit, &names, err);
    if (rc != RC_OK)
        return rc;
    bool repost = bytes_equal_string(names.collection, AT_REPOST);
    bool post = bytes_equal_string(names.collection, AT_POST);
    event->unwanted = repost ? terms->no_reposts : !post || terms->no_posts;
    if (event->unwanted)
        return RC_OK;
    bool gone = bytes_equal_string(names.operation, "delete");
    bool created = bytes_equal_string(names.operation, "create");
    struct json body = json_get(commit, "record");
    if (!gone && !created && !bytes_equal_string(names.operation, "update"))
        return err_set(err, RC_REJECT, "operation is neither create, update nor delete");
    if (!gone && json_type(body) != JSON_OBJECT)
        return err_set(err, RC_REJECT, "a %.*s carries no record", (int)names.operation.len,
                       names.operation.data);
    struct post_input input = {
        .did = event->did,
        .collection = names.collection,
        .rkey = names.rkey,
        .rev = names.rev,
        .cid = read_cid(commit),
        .op = gone ? POST_OP_DELETE : POST_OP_PUT,
        .kind = repost ? POST_KIND_REPOST : POST_KIND_POST,
        .fresh = created,
        .shared_us = believed(event->time_us, terms),
        .now_us = terms->now_us,
        .body = body,
    };
    rc = post_record_add(&input, batch, &out);
    event->records = out.records;
    event->left_out = out.left_out;
    return rc;
}

static enum rc decode_account(struct json account, const struct jetstream_event *event,
                              const struct jetstream_terms *terms, struct batch *batch,
                              unsigned *added, struct err *err)
{
    bool active;
    if (!json_bool(json_get(account, "active"), &active))
        return err_set(err, RC_REJECT, "account event has no boolean \"active\"");
    struct record *record = batch_add(batch, RECORD_ACCOUNT);
    fill_text(batch, &record, ACCOUNT_DID, event->did);
    fill_text(batch, &record, ACCOUNT_STATUS, json_string_or_absent(json_get(account, "status")));
    if (record == NULL)
        return RC_AGAIN;
    batch_set_int(record, ACCOUNT_ACTIVE, active);
    batch_set_int(record, ACCOUNT_AT_US, believed(event->time_us, terms));
    *added = 1;
    return RC_OK;
}

static enum rc decode_identity(struct json identity, const struct jetstream_event *event,
                               const struct jetstream_terms *terms, struct batch *batch,
                               unsigned *added)
{
    struct bytes handle = json_string_or_absent(json_get(identity, "handle"));
    if (handle.data == NULL || handle.len > HANDLE_MAX)
        return RC_OK; /* the handle is optional: the event only says "look again" */
    struct record *record = batch_add(batch, RECORD_IDENTITY);
    fill_text(batch, &record, IDENTITY_DID, event->did);
    fill_text(batch, &record, IDENTITY_HANDLE, handle);
    if (record == NULL)
        return RC_AGAIN;
    batch_set_int(record, IDENTITY_AT_US, believed(event->time_us, terms));
    *added = 1;
    return RC_OK;
}

/* ---- the two wires ---- */

static enum rc read_did(struct json object, struct jetstream_event *event, struct err *err)
{
    enum rc rc = want_string(object, "did", AT_DID_MAX, &event->did, err);
    if (rc == RC_OK && !bytes_starts_with(event->did, "did:"))
        rc = err_set(err, RC_REJECT, "\"did\" does not begin with did:");
    return rc;
}

static bool is_wanted(const struct jetstream_terms *terms, struct jetstream_event *event)
{
    event->unwanted = terms->wants != NULL && !terms->wants(terms->arg, event->did);
    return !event->unwanted;
}

static enum rc decode_v1(struct json root, const struct jetstream_terms *terms, struct batch *batch,
                         struct jetstream_event *event, struct err *err)
{
    struct bytes kind;
    if (!json_i64(json_get(root, "time_us"), &event->time_us) || event->time_us <= 0)
        return err_set(err, RC_REJECT, "event has no positive integer \"time_us\"");
    enum rc rc = read_did(root, event, err);
    if (rc != RC_OK)
        return rc;
    rc = want_string(root, "kind", 32, &kind, err);
    if (rc != RC_OK || !is_wanted(terms, event))
        return rc;
    if (bytes_equal_string(kind, "commit"))
        return decode_commit(json_get(root, "commit"), terms, batch, event, err);
    if (bytes_equal_string(kind, "account"))
        return decode_account(json_get(root, "account"), event, terms, batch, &event->records, err);
    if (bytes_equal_string(kind, "identity"))
        return decode_identity(json_get(root, "identity"), event, terms, batch, &event->records);
    return RC_OK;
}

static void take_word(struct json value, struct jetstream_event *event)
{
    struct bytes word = json_string_or_absent(value);
    size_t len = word.len < sizeof event->word - 1 ? word.len : sizeof event->word - 1;
    if (len > 0)
        memcpy(event->word, word.data, len);
}

/* What follows the '#' of a payload's type, or absent. */
static struct bytes kind_of(struct json payload)
{
    struct bytes type = json_string_or_absent(json_get(payload, "$type"));
    const char *mark = type.len == 0 ? NULL : memrchr(type.data, '#', type.len);
    if (mark == NULL)
        return BYTES_ABSENT;
    return bytes_make(mark + 1, type.len - (size_t)(mark + 1 - type.data));
}

static enum rc decode_payload(struct json payload, const struct jetstream_terms *terms,
                              struct batch *batch, struct jetstream_event *event, struct err *err)
{
    struct bytes kind = kind_of(payload), time;
    if (kind.data == NULL)
        return err_set(err, RC_REJECT, "a message's payload has no \"$type\"");
    if (bytes_equal_string(kind, "info")) {
        event->message = JETSTREAM_INFO;
        take_word(json_get(payload, "name"), event);
        return RC_OK;
    }
    bool commit = bytes_equal_string(kind, "commit"), account = bytes_equal_string(kind, "account");
    bool identity = bytes_equal_string(kind, "identity");
    if (!commit && !account && !identity && json_type(json_get(payload, "seq")) == JSON_ABSENT) {
        event->message = JETSTREAM_OTHER;
        return RC_OK;
    }
    if (!json_i64(json_get(payload, "seq"), &event->seq) || event->seq <= 0)
        return err_set(err, RC_REJECT, "event has no positive integer \"seq\"");
    enum rc rc = want_string(payload, "time", 64, &time, err);
    if (rc != RC_OK)
        return rc;
    if (!timestamp_parse(time, &event->time_us) || event->time_us <= 0)
        return err_set(err, RC_REJECT, "\"time\" is no time after 1970");
    rc = read_did(payload, event, err);
    if (rc != RC_OK || !is_wanted(terms, event))
        return rc;
    if (commit)
        return decode_commit(payload, terms, batch, event, err);
    if (account)
        return decode_account(json_get(payload, "account"), event, terms, batch, &event->records,
                              err);
    if (identity)
        return decode_identity(json_get(payload, "identity"), event, terms, batch, &event->records);
    return RC_OK;
}

enum rc jetstream_event_decode_on(struct json_doc *doc, struct bytes frame,
                                  const struct jetstream_terms *terms, struct batch *batch,
                                  struct jetstream_event *event, struct err *err)
{
    assert(doc != NULL && terms != NULL && batch != NULL && event != NULL);
    struct json root;
    *event = (struct jetstream_event){0};
    enum rc rc = json_parse(doc, frame, &root, err);
    if (rc != RC_OK)
        return rc;
    struct json type = json_get(root, "$type");
    struct bytes name = json_string_or_absent(type);
    if (json_type(type) == JSON_ABSENT)
        return decode_v1(root, terms, batch, event, err);
    if (bytes_equal_string(name, "message"))
        return decode_payload(json_get(root, "payload"), terms, batch, event, err);
    event->message = bytes_equal_string(name, "error") ? JETSTREAM_ERROR : JETSTREAM_OTHER;
    take_word(json_get(root, "error"), event);
    return RC_OK;
}

enum rc jetstream_event_decode(struct json_doc *doc, struct bytes frame, int64_t now_us,
                               struct batch *batch, struct jetstream_event *event, struct err *err)
{
    struct jetstream_terms terms = {.now_us = now_us, .until_us = now_us, .instead_us = now_us};
    return jetstream_event_decode_on(doc, frame, &terms, batch, event, err);
}
