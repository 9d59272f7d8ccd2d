/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a node's log and as its block, under each kind of event: refused with a sentence, or
 * searched without leaving the data. */
#include "decode/evm_event.h"

#include <assert.h>

#define BYTES_MAX ((size_t)1 << 16)
#define CONTRACT  "0xb01683b2f0d38d43fcd4d9aab980166988924132"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_name(void *arg, struct bytes name)
{
    (void)arg;
    assert(name.len > 0 && name.data != NULL);
}

static void read_log(struct evm_log *log, const char *text)
{
    struct evm_event event;
    struct text scratch = {0};
    struct err err = {{0}};
    char space[EVM_SPACE_TEXT_SIZE];
    bool parsed = evm_event_parse(bytes_of(text), bytes_of(CONTRACT), &event, &err) == RC_OK;
    assert(parsed);
    /* Finding the hash of a signature is not the fuzzer's task. */
    if (event.kind == EVM_EVENT_ABI && log->topic_count > 0)
        log->topics[0] = event.topic;
    if (evm_event_matches(&event, log)) {
        evm_event_names(&event, log, &scratch, take_name, NULL);
        evm_event_space(&event, log, space);
    }
    text_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    struct evm_log log;
    struct evm_block block;
    struct json root;
    struct err err = {{0}};
    if (doc == NULL)
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    if (json_parse_copy(doc, bytes_make(data, size), &root, &err) != RC_OK)
        return 0;
    if (evm_block_read(root, &block, &err) != RC_OK)
        assert(err.text[0] != '\0');
    if (evm_log_read(root, &log, &err) != RC_OK) {
        assert(err.text[0] != '\0');
        return 0;
    }
    read_log(&log, "any");
    read_log(&log, "action");
    read_log(&log, "Note(address,string,bytes,string)");
    return 0;
}
