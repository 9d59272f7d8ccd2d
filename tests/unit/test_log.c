/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/timestamp.h"
#include "sys/log.h"
#include "sys/log_line.h"
#include "sys/small_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define NOW_US  INT64_C(1725911162329308)
#define NOW     "2024-09-09T19:46:02.329308Z"
#define THREADS 4

static int64_t now_us;

static int64_t stopped_clock(void *arg)
{
    (void)arg;
    return now_us;
}

/* A folder of its own for each test; `path` is the log file in it. */
struct place {
    char folder[64], path[96];
};

static int make_place(void **state)
{
    static struct place place;
    snprintf(place.folder, sizeof place.folder, "%s", P_tmpdir "/log_XXXXXX");
    if (mkdtemp(place.folder) == NULL)
        return -1;
    snprintf(place.path, sizeof place.path, "%s/log", place.folder);
    now_us = NOW_US;
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    log_close();
    char path[128];
    for (int n = 0; n < 10; n++) {
        snprintf(path, sizeof path, n == 0 ? "%s" : "%s.%d", place->path, n);
        unlink(path);
    }
    return rmdir(place->folder);
}

static void start(const struct place *place, enum log_format format, enum log_level level)
{
    struct log_options options = {
        .format = format, .level = level, .file = place->path, .clock = stopped_clock};
    assert_int_equal(log_open(&options, NULL), RC_OK);
}

static struct text content(const char *path)
{
    struct text text = {0};
    assert_int_equal(small_file_read(path, 16 << 20, &text, NULL), RC_OK);
    return text;
}

static void expect(const struct place *place, const char *lines)
{
    struct text text = content(place->path);
    assert_string_equal(text_string(&text), lines);
    text_free(&text);
}

static size_t count_lines(struct bytes text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '\n';
    return count;
}

static void text_lines_are_logfmt_with_the_object_first(void **state)
{
    struct place *place = *state;
    start(place, LOG_FORMAT_TEXT, LOG_INFO);
    log_event(LOG_WARN, "jetstream", "frame_rejected",
              (struct log_field[]){log_string("host", "a.example"), log_int("bytes", -7),
                                   log_real("rate", 0.5), log_bool("live", true),
                                   log_string("why", "no \"good\"\n"), log_string("none", NULL),
                                   log_string("empty", ""), LOG_END});
    log_event(LOG_INFO, "store", "opened", NULL);
    expect(place, "component=jetstream host=a.example bytes=-7 rate=0.5 live=true "
                  "why=\"no \\\"good\\\"\\n\" none=null empty=\"\" msg=frame_rejected level=warn "
                  "time=" NOW "\n"
                  "component=store msg=opened level=info time=" NOW "\n");
}

/* The lines of the seeds, to the letter. */
static void tagged_lines_are_the_words_alone(void **state)
{
    struct place *place = *state;
    static const char poll[] = "washingtonpost.com: 150 posts, 75 URLs across 3 pages";
    static const char skip[] =
        "handle.invalid: Account unavailable (invalid/deleted/private): API error: 400";
    start(place, LOG_FORMAT_TEXT, LOG_INFO);
    log_tagged(LOG_INFO, "polling", "account_polled", "POLL", bytes_of(poll),
               (struct log_field[]){log_int("posts", 150), LOG_END});
    log_tagged(LOG_WARN, "polling", "account_skipped", "SKIP", bytes_of(skip), NULL);
    log_tagged(LOG_ERROR, "polling", "x", "ERROR", bytes_of("a \"b\" \\ \x1b[31m\nc"), NULL);
    expect(place,
           "[POLL] washingtonpost.com: 150 posts, 75 URLs across 3 pages\n"
           "[SKIP] handle.invalid: Account unavailable (invalid/deleted/private): API error: "
           "400\n"
           "[ERROR] a \"b\" \\\\ \\u001b[31m\\nc\n");
}

/* R001-108, R001-110 */
static void json_lines_parse_and_have_their_fields(void **state)
{
    struct place *place = *state;
    struct json_doc *doc = json_doc_new(1 << 20, 8);
    struct json root;
    struct bytes text;
    int64_t number, at;
    start(place, LOG_FORMAT_JSON, LOG_DEBUG);
    log_event(LOG_ERROR, "jetstream", "frame_rejected",
              (struct log_field[]){log_string("why", "a\"b\n"), log_int("n", 5), LOG_END});
    log_tagged(LOG_INFO, "polling", "account_polled", "POLL", bytes_of("x: 3 posts"),
               (struct log_field[]){log_int("posts", 3), LOG_END});
    log_event(LOG_DEBUG, "store", "opened", NULL);
    struct text lines = content(place->path);
    assert_int_equal(count_lines(text_bytes(&lines)), 3);
    static const char *const levels[] = {"error", "info", "debug"};
    const char *line = lines.data;
    for (int i = 0; i < 3; i++, line = strchr(line, '\n') + 1) {
        struct bytes one = bytes_make(line, strcspn(line, "\n"));
        assert_int_equal(json_parse_copy(doc, one, &root, NULL), RC_OK);
        assert_int_equal(json_count(root), 5);
        assert_true(json_string(json_get(root, "timestamp"), &text));
        assert_true(timestamp_parse(text, &at) && at == NOW_US);
        assert_true(bytes_equal_string(json_string_or_absent(json_get(root, "level")), levels[i]));
        assert_true(json_string(json_get(root, "component"), &text));
        assert_true(json_string(json_get(root, "event_type"), &text));
        assert_int_equal(json_type(json_get(root, "metadata")), JSON_OBJECT);
        if (i == 0) {
            assert_true(bytes_equal_string(
                json_string_or_absent(json_pointer(root, "/metadata/why")), "a\"b\n"));
            assert_true(json_i64(json_pointer(root, "/metadata/n"), &number) && number == 5);
        }
        if (i == 1) {
            assert_true(bytes_equal_string(
                json_string_or_absent(json_pointer(root, "/metadata/message")), "x: 3 posts"));
            assert_true(json_i64(json_pointer(root, "/metadata/posts"), &number) && number == 3);
        }
    }
    text_free(&lines);
    json_doc_free(doc);
}

/* R001-108 */
static void json_goes_to_stdout_and_text_to_stderr_unless_told_otherwise(void **state)
{
    struct place *place = *state;
    static const char *const files[] = {NULL, "", "stdout", "stderr"};
    for (int format = 0; format < 2; format++) {
        for (size_t i = 0; i < 4; i++) {
            struct log_options options = {
                .format = (enum log_format)format, .file = files[i], .clock = stopped_clock};
            bool out = i == 2 || (i < 2 && format == LOG_FORMAT_JSON);
            int stream = out ? STDOUT_FILENO : STDERR_FILENO, before = dup(stream);
            int fd = open(place->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
            fflush(stdout);
            dup2(fd, stream);
            assert_int_equal(log_open(&options, NULL), RC_OK);
            log_event(LOG_INFO, "a", "b", NULL);
            log_close();
            dup2(before, stream);
            close(before);
            close(fd);
            struct text lines = content(place->path);
            assert_int_equal(count_lines(text_bytes(&lines)), 1);
            assert_int_equal(lines.data[0], format == LOG_FORMAT_JSON ? '{' : 'c');
            text_free(&lines);
        }
    }
}

/* R001-109 */
static void levels_below_the_chosen_one_are_not_written(void **state)
{
    struct place *place = *state;
    static const char *const names[] = {"debug", "info", "warn", "error"};
    for (int least = LOG_DEBUG; least <= LOG_ERROR; least++) {
        unlink(place->path);
        start(place, LOG_FORMAT_TEXT, (enum log_level)least);
        for (int level = LOG_DEBUG; level <= LOG_ERROR; level++)
            log_event((enum log_level)level, "a", names[level], NULL);
        struct text lines = content(place->path);
        for (int level = LOG_DEBUG; level <= LOG_ERROR; level++) {
            char word[32];
            snprintf(word, sizeof word, "level=%s", names[level]);
            assert_int_equal(strstr(lines.data, word) != NULL, level >= least);
        }
        text_free(&lines);
    }
}

/* R001-111 */
static void ten_thousand_equal_events_are_one_line_and_a_count(void **state)
{
    struct place *place = *state;
    start(place, LOG_FORMAT_TEXT, LOG_INFO);
    for (int i = 0; i < 10000; i++)
        log_event_limited(LOG_ERROR, "jetstream", "frame_rejected",
                          (struct log_field[]){log_int("i", i), LOG_END});
    log_event_limited(LOG_WARN, "jetstream", "other", NULL);
    log_flush();
    expect(place, "component=jetstream i=0 msg=frame_rejected level=error time=" NOW "\n"
                  "component=jetstream msg=other level=warn time=" NOW "\n");
    now_us += LOG_LIMIT_US;
    log_event_limited(LOG_ERROR, "jetstream", "frame_rejected",
                      (struct log_field[]){log_int("i", -1), LOG_END});
    log_event_limited(LOG_ERROR, "jetstream", "frame_rejected", NULL);
    now_us += LOG_LIMIT_US;
    log_flush();
    log_flush();
    expect(place, "component=jetstream i=0 msg=frame_rejected level=error time=" NOW "\n"
                  "component=jetstream msg=other level=warn time=" NOW "\n"
                  "component=jetstream i=-1 suppressed=9999 msg=frame_rejected level=error "
                  "time=2024-09-09T19:47:02.329308Z\n"
                  "component=jetstream suppressed=1 msg=frame_rejected level=error "
                  "time=2024-09-09T19:48:02.329308Z\n");
}

static void what_was_left_unsaid_is_said_at_the_end(void **state)
{
    struct place *place = *state;
    start(place, LOG_FORMAT_TEXT, LOG_INFO);
    log_event_limited(LOG_ERROR, "a", "b", NULL);
    log_event_limited(LOG_ERROR, "a", "b", NULL);
    log_close();
    expect(place, "component=a msg=b level=error time=" NOW "\n"
                  "component=a suppressed=1 msg=b level=error time=" NOW "\n");
}

static void more_kinds_of_events_than_places_lose_no_count(void **state)
{
    struct place *place = *state;
    static char names[100][8];
    start(place, LOG_FORMAT_TEXT, LOG_INFO);
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "e%d", i);
        now_us++;
        for (int k = 0; k < 3; k++)
            log_event_limited(LOG_INFO, "a", names[i], NULL);
    }
    log_close();
    struct text lines = content(place->path);
    size_t counted = 0;
    for (const char *at = lines.data; (at = strstr(at, "suppressed=2")) != NULL; at++)
        counted++;
    assert_int_equal(counted, 100);
    assert_int_equal(count_lines(text_bytes(&lines)), 200);
    text_free(&lines);
}

static void check_json(struct json_doc *doc, const struct text *line, bool truncated)
{
    struct json root;
    bool said = false;
    assert_true(line->len <= LOG_LINE_MAX);
    assert_int_equal(count_lines(text_bytes(line)), 1);
    assert_int_equal(json_parse_copy(doc, text_bytes(line), &root, NULL), RC_OK);
    json_bool(json_pointer(root, "/metadata/truncated"), &said);
    assert_int_equal(said, truncated);
}

static void a_long_line_is_cut_and_still_parses(void **state)
{
    (void)state;
    enum { LONG = 20000 };
    struct json_doc *doc = json_doc_new(1 << 20, 8);
    struct text out = {0};
    char *big = memory_new(LONG);
    static const char *const fills[] = {"a",  "\x01", "\xc3\xa9", "\xff",
                                        "\"", "\x7f", "\xc2\x9b", "\xe2\x80\xae"};
    static const size_t grows[] = {1, 6, 1, 3, 2, 6, 3, 2}; /* bytes written for one */
    for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++) {
        size_t unit = strlen(fills[f]);
        for (size_t i = 0; i < LONG; i++)
            big[i] = fills[f][i % unit];
        for (size_t len = 0; len < LONG; len += 331) {
            struct log_field fields[] = {log_text("a", bytes_make(big, len)), log_int("b", 5),
                                         log_text("c", bytes_make(big, len)), LOG_END};
            struct log_line line = {LOG_INFO, NOW_US, "x", "y", NULL, BYTES_ABSENT, fields, 3};
            log_line_format(&line, LOG_FORMAT_JSON, &out);
            check_json(doc, &out, strstr(out.data, "truncated") != NULL);
            size_t needed = 2 * len * grows[f]; /* and a few hundred bytes beside it */
            if (needed < 3400 || needed > LOG_LINE_MAX)
                assert_int_equal(strstr(out.data, "truncated") != NULL, needed > LOG_LINE_MAX);
            log_line_format(&line, LOG_FORMAT_TEXT, &out);
            assert_true(out.len <= LOG_LINE_MAX && count_lines(text_bytes(&out)) == 1);
            assert_non_null(strstr(out.data, " msg=y level=info time=" NOW "\n"));
            line.tag = "POLL";
            line.words = bytes_make(big, len);
            log_line_format(&line, LOG_FORMAT_TEXT, &out);
            assert_true(out.len <= LOG_LINE_MAX && count_lines(text_bytes(&out)) == 1);
            log_line_format(&line, LOG_FORMAT_JSON, &out);
            check_json(doc, &out, strstr(out.data, "truncated") != NULL);
        }
    }
    free(big);
    text_free(&out);
    json_doc_free(doc);
}

static void controls_and_broken_text_are_made_harmless(void **state)
{
    struct place *place = *state;
    start(place, LOG_FORMAT_TEXT, LOG_INFO);
    log_event(LOG_INFO, "a", "b",
              (struct log_field[]){log_string("k", "\xff\x1b[2J\x7f\xc2\x9b"
                                                   "x y\xe2\x82"),
                                   log_string("turned", "\xe2\x80\xae \xe2\x80\xa8.\xe2\x82\xac"),
                                   log_text("nul", bytes_make("a\0b", 3)), LOG_END});
    expect(place, "component=a k=\"\xef\xbf\xbd\\u001b[2J\\u007f\\u009bx y\xef\xbf\xbd\" "
                  "turned=\"\\u202e \\u2028.\xe2\x82\xac\" "
                  "nul=a\xef\xbf\xbd"
                  "b msg=b level=info time=" NOW "\n");
}

static void a_full_file_is_set_aside_and_the_oldest_goes(void **state)
{
    struct place *place = *state;
    struct log_options options = {.file = place->path,
                                  .level = LOG_INFO,
                                  .rotate_bytes = 200,
                                  .rotate_count = 2,
                                  .clock = stopped_clock};
    assert_int_equal(log_open(&options, NULL), RC_OK);
    char path[128], name[16];
    for (int i = 0; i < 9; i++) { /* three lines fit one file */
        snprintf(name, sizeof name, "e%d", i);
        log_event(LOG_INFO, "a", name, NULL);
    }
    static const char *const first[] = {"msg=e6", "msg=e3", "msg=e0"};
    for (int n = 0; n < 3; n++) {
        snprintf(path, sizeof path, n == 0 ? "%s" : "%s.%d", place->path, n);
        struct text lines = content(path);
        assert_int_equal(count_lines(text_bytes(&lines)), 3);
        assert_non_null(strstr(lines.data, first[n]));
        text_free(&lines);
    }
    log_event(LOG_INFO, "a", "e9", NULL);
    snprintf(path, sizeof path, "%s.3", place->path);
    assert_false(small_file_exists(path));
    snprintf(path, sizeof path, "%s.2", place->path);
    struct text lines = content(path);
    assert_non_null(strstr(lines.data, "msg=e3")); /* e0 to e2 are gone */
    text_free(&lines);
}

static void a_file_moved_by_others_is_opened_again(void **state)
{
    struct place *place = *state;
    char moved[128];
    snprintf(moved, sizeof moved, "%s.1", place->path);
    start(place, LOG_FORMAT_TEXT, LOG_INFO);
    log_event(LOG_INFO, "a", "before", NULL);
    assert_int_equal(rename(place->path, moved), 0);
    log_event(LOG_INFO, "a", "between", NULL);
    assert_int_equal(log_reopen(NULL), RC_OK);
    log_event(LOG_INFO, "a", "after", NULL);
    expect(place, "component=a msg=after level=info time=" NOW "\n");
    struct text lines = content(moved);
    assert_int_equal(count_lines(text_bytes(&lines)), 2);
    text_free(&lines);
}

static void a_file_that_cannot_be_opened_changes_nothing(void **state)
{
    struct place *place = *state;
    struct log_options bad = {.file = "no/such/folder/log"};
    struct err err;
    start(place, LOG_FORMAT_TEXT, LOG_INFO);
    assert_int_equal(log_open(&bad, &err), RC_REJECT);
    assert_string_equal(err.text,
                        "cannot open the log file no/such/folder/log: No such file or directory");
    log_event(LOG_INFO, "a", "b", NULL);
    expect(place, "component=a msg=b level=info time=" NOW "\n");
}

static void a_line_that_cannot_be_written_is_counted(void **state)
{
    (void)state;
    struct log_options full = {.file = "/dev/full", .clock = stopped_clock};
    uint64_t before = log_lost();
    assert_int_equal(log_open(&full, NULL), RC_OK);
    log_event(LOG_INFO, "a", "b", NULL);
    log_event(LOG_INFO, "a", "b", NULL);
    assert_int_equal(log_lost() - before, 2);
}

static void *write_many(void *arg)
{
    int id = *(int *)arg;
    for (int i = 0; i < 500; i++) {
        log_event(LOG_INFO, "thread", "line",
                  (struct log_field[]){log_int("id", id), log_int("i", i), LOG_END});
        log_event_limited(LOG_INFO, "thread", "limited", NULL);
        if (i % 100 == 0)
            assert_int_equal(log_reopen(NULL), RC_OK);
    }
    return NULL;
}

/* R001-143 */
static void lines_of_many_threads_do_not_mix(void **state)
{
    struct place *place = *state;
    struct log_options options = {.format = LOG_FORMAT_JSON,
                                  .file = place->path,
                                  .rotate_bytes = 100000,
                                  .rotate_count = 9,
                                  .clock = stopped_clock};
    pthread_t threads[THREADS];
    int ids[THREADS];
    assert_int_equal(log_open(&options, NULL), RC_OK);
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &ids[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    log_close();
    struct json_doc *doc = json_doc_new(1 << 20, 8);
    struct json root;
    size_t count = 0;
    char path[128];
    for (int n = 0; n < 10; n++) {
        snprintf(path, sizeof path, n == 0 ? "%s" : "%s.%d", place->path, n);
        if (!small_file_exists(path))
            continue;
        struct text lines = content(path);
        for (const char *at = lines.data; *at != 0; at = strchr(at, '\n') + 1, count++)
            assert_int_equal(json_parse_copy(doc, bytes_make(at, strcspn(at, "\n")), &root, NULL),
                             RC_OK);
        text_free(&lines);
    }
    assert_int_equal(count, THREADS * 500 + 2);
    json_doc_free(doc);
}

static void sizes_of_rotation_are_read_strictly(void **state)
{
    (void)state;
    uint64_t bytes;
    unsigned count;
    assert_true(log_rotate_parse(bytes_of("10M:5"), &bytes, &count));
    assert_true(bytes == 10 << 20 && count == 5);
    assert_true(log_rotate_parse(bytes_of("1G:100"), &bytes, &count));
    static const char *const bad[] = {"",     ":",     "M:5",     "10:5",    "10M",    "10M:",
                                      "0M:5", "10M:0", "10M:101", "1024G:1", "10M:5x", "-1M:5"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(log_rotate_parse(bytes_of(bad[i]), &bytes, &count));
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(text_lines_are_logfmt_with_the_object_first),
        WITH_PLACE(tagged_lines_are_the_words_alone),
        WITH_PLACE(json_lines_parse_and_have_their_fields),
        WITH_PLACE(json_goes_to_stdout_and_text_to_stderr_unless_told_otherwise),
        WITH_PLACE(levels_below_the_chosen_one_are_not_written),
        WITH_PLACE(ten_thousand_equal_events_are_one_line_and_a_count),
        WITH_PLACE(what_was_left_unsaid_is_said_at_the_end),
        WITH_PLACE(more_kinds_of_events_than_places_lose_no_count),
        cmocka_unit_test(a_long_line_is_cut_and_still_parses),
        WITH_PLACE(controls_and_broken_text_are_made_harmless),
        WITH_PLACE(a_full_file_is_set_aside_and_the_oldest_goes),
        WITH_PLACE(a_file_moved_by_others_is_opened_again),
        WITH_PLACE(a_file_that_cannot_be_opened_changes_nothing),
        WITH_PLACE(a_line_that_cannot_be_written_is_counted),
        WITH_PLACE(lines_of_many_threads_do_not_mix),
        cmocka_unit_test(sizes_of_rotation_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
