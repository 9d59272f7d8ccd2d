/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that a real Jetstream sent, one per shape, through our decoder; and the real zstd
 * dictionaries, which must be what they say they are. argv[1] is the folder of real data. */
#include "base/digest.h"
#include "decode/jetstream_event.h"

#include <zstd.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned passed, failed;

static void expect(bool held, const char *what)
{
    printf("%s %s\n", held ? "ok" : "NOT OK", what);
    *(held ? &passed : &failed) += 1;
}

static struct text read_file(const char *folder, const char *name)
{
    char path[4096];
    struct text content = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "golden_events: cannot open %s\n", path);
        exit(1);
    }
    for (size_t got; (got = fread(text_reserve(&content, 65536), 1, 65536, file)) > 0;)
        content.len += got;
    fclose(file);
    return content;
}

/* Decodes one line; the kinds of records it gave are counted in `counts`. */
static bool decode_line(struct json_doc *doc, struct batch *batch, struct bytes line)
{
    char *padded = calloc(1, line.len + ARENA_PAD);
    struct jetstream_event event;
    struct err err;
    memcpy(padded, line.data, line.len);
    enum rc rc =
        jetstream_event_decode(doc, bytes_make(padded, line.len), INT64_MAX, batch, &event, &err);
    if (rc != RC_OK)
        printf("# %s: %.*s\n", err.text, (int)(line.len < 200 ? line.len : 200), line.data);
    bool named = rc == RC_OK && event.time_us > INT64_C(1700000000000000) &&
                 bytes_starts_with(event.did, "did:plc:");
    free(padded);
    return named;
}

static void check_events(const char *folder)
{
    struct text lines = read_file(folder, "jetstream/golden_v1.jsonl");
    struct json_doc *doc = json_doc_new((size_t)1 << 20, JSON_DEPTH_MAX);
    struct batch batch = {0};
    unsigned count = 0, good = 0;
    arena_init(&batch.arena, (size_t)1 << 20);
    for (char *at = lines.data, *end = lines.data + lines.len; at < end;) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        good += decode_line(doc, &batch, bytes_make(at, (size_t)(stop - at)));
        count++;
        at = stop + 1;
    }
    expect(count == 10 && good == count, "every real event is understood");
    expect(batch.first[RECORD_POST] != NULL && batch.first[RECORD_POST]->next != NULL &&
               batch.record_count == 3,
           "a post, a repost and an account's standing become records, the rest none");
    expect(batch.first[RECORD_ACCOUNT] != NULL &&
               batch.first[RECORD_ACCOUNT]->fields[ACCOUNT_ACTIVE].i == 1,
           "the account is active");
    arena_deinit(&batch.arena);
    json_doc_free(doc);
    text_free(&lines);
}

static void check_dictionary(const char *folder, const char *name, unsigned id, const char *hex)
{
    struct text content = read_file(folder, name);
    uint8_t digest[DIGEST_SIZE];
    char text[DIGEST_HEX_SIZE];
    digest_sha256(text_bytes(&content), digest);
    digest_hex(digest, text);
    ZSTD_DDict *dictionary = ZSTD_createDDict(content.data, content.len);
    expect(dictionary != NULL && ZSTD_getDictID_fromDDict(dictionary) == id &&
               strncmp(text, hex, strlen(hex)) == 0,
           name);
    ZSTD_freeDDict(dictionary);
    text_free(&content);
}

int main(int argc, char **argv)
{
    assert(argc == 2);
    check_events(argv[1]);
    check_dictionary(argv[1], "jetstream/legacy_subscribe.zdict", 1612007021, "b8d77b46");
    check_dictionary(argv[1], "jetstream/subscribe_events_20260811.zdict", 20260811, "f631a689");
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
