/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/json_write.h"
#include "cli/post_roll.h"
#include "cli/target.h"
#include "sys/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define HOURS_MAX 87600
#define HOUR_US   INT64_C(3600000000)
#define SETTLE_US INT64_C(120000000) /* what is younger may be on its way still */
#define SHOWN_MAX 1000

static const char usage[] =
    "usage: tidemark compare [-c FILE] [--set PATH=VALUE]... [--hours N] [--json] OTHER\n"
    "Compares the posts and reposts of the last N hours (default 24) in this store with those in "
    "the\n"
    "store that the configuration file OTHER names: one fed by the firehose, say, and one by "
    "polling,\n"
    "run side by side. Either may be in use by a daemon. Shows what only one of them has, and "
    "what\n"
    "differs in text, kind or subject; the last two minutes are left out.\n"
    "Exit code: 0 the same, 1 they differ or could not be compared, 2 wrong usage.\n";

struct wanted {
    int64_t hours;
    bool json;
};

enum side { ONLY_HERE, ONLY_THERE, DIFFERENT, SIDES };

struct comparison {
    int64_t from_us, to_us;
    size_t here, there, same;
    size_t counts[SIDES];
    struct bytes shown[SIDES][SHOWN_MAX];
};

static void take_hours(void *arg, const char *value)
{
    struct wanted *wanted = arg;
    if (!bytes_to_i64(bytes_of(value), &wanted->hours) || wanted->hours > HOURS_MAX)
        wanted->hours = 0;
}

/* The two clocks differ: a row near the edge may lie in the range on one side only. */
static bool in_range(const struct comparison *comparison, const struct post_row *row)
{
    return row->shared_us >= comparison->from_us && row->shared_us < comparison->to_us;
}

static void note(struct comparison *comparison, enum side side, struct bytes uri)
{
    size_t at = comparison->counts[side]++;
    if (at < SHOWN_MAX)
        comparison->shown[side][at] = uri;
}

static void compare(struct comparison *comparison, const struct post_roll *here,
                    const struct post_roll *there)
{
    size_t i = 0, k = 0;
    while (i < here->count || k < there->count) {
        const struct post_row *a = i < here->count ? &here->rows[i] : NULL;
        const struct post_row *b = k < there->count ? &there->rows[k] : NULL;
        int order = a == NULL ? 1 : b == NULL ? -1 : bytes_compare(a->uri, b->uri);
        const struct post_row *row = order > 0 ? b : a;
        assert(row != NULL);
        bool counts = in_range(comparison, row);
        i += order <= 0;
        k += order >= 0;
        if (!counts)
            continue;
        comparison->here += order <= 0;
        comparison->there += order >= 0;
        comparison->same += order == 0 && a->digest == b->digest;
        if (order != 0)
            note(comparison, order < 0 ? ONLY_HERE : ONLY_THERE, row->uri);
        else if (a->digest != b->digest)
            note(comparison, DIFFERENT, row->uri);
    }
}

static void print_json(const struct comparison *comparison, struct text *out)
{
    static const char *const names[SIDES] = {"onlyHere", "onlyThere", "different"};
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, "here");
    json_put_u64(&writer, comparison->here);
    json_key(&writer, "there");
    json_put_u64(&writer, comparison->there);
    json_key(&writer, "same");
    json_put_u64(&writer, comparison->same);
    for (size_t side = 0; side < SIDES; side++) {
        json_key(&writer, names[side]);
        json_begin_array(&writer);
        for (size_t i = 0; i < comparison->counts[side] && i < SHOWN_MAX; i++)
            json_put_string(&writer, comparison->shown[side][i]);
        json_end_array(&writer);
    }
    json_end_object(&writer);
    text_append_char(out, '\n');
}

static void print_words(const struct comparison *comparison, struct text *out)
{
    static const char *const names[SIDES] = {"only here", "only there", "different"};
    for (size_t side = 0; side < SIDES; side++)
        for (size_t i = 0; i < comparison->counts[side] && i < SHOWN_MAX; i++)
            text_appendf(out, "%s\t%.*s\n", names[side], (int)comparison->shown[side][i].len,
                         comparison->shown[side][i].data);
    fprintf(stderr,
            "%zu here, %zu there, %zu the same; %zu only here, %zu only there, %zu different\n",
            comparison->here, comparison->there, comparison->same, comparison->counts[ONLY_HERE],
            comparison->counts[ONLY_THERE], comparison->counts[DIFFERENT]);
}

static int show(const struct comparison *comparison, const struct wanted *wanted)
{
    struct text out = {0};
    if (wanted->json)
        print_json(comparison, &out);
    else
        print_words(comparison, &out);
    int code = target_put(&out);
    text_free(&out);
    bool equal = comparison->counts[ONLY_HERE] + comparison->counts[ONLY_THERE] +
                     comparison->counts[DIFFERENT] ==
                 0;
    return code != EXIT_DONE || equal ? code : EXIT_FAILED;
}

static enum rc read_roll(struct target *target, struct post_roll *roll, struct err *err)
{
    enum rc rc = target_open(target, err);
    return rc == RC_OK ? post_roll_read(roll, target, err) : rc;
}

static int run(struct target *here, struct target *there, const struct wanted *wanted)
{
    static struct comparison comparison;
    struct post_roll rolls[2] = {{0}, {0}};
    struct err err;
    int64_t now_us = clock_wall_us();
    comparison = (struct comparison){.from_us = now_us - wanted->hours * HOUR_US,
                                     .to_us = now_us - SETTLE_US};
    enum rc rc = read_roll(here, &rolls[0], &err);
    if (rc == RC_OK)
        rc = read_roll(there, &rolls[1], &err);
    if (rc == RC_OK)
        compare(&comparison, &rolls[0], &rolls[1]);
    int code = rc == RC_OK ? show(&comparison, wanted) : target_fail(&err);
    post_roll_free(&rolls[0]);
    post_roll_free(&rolls[1]);
    return code;
}

int cmd_compare(int argc, char **argv)
{
    struct wanted wanted = {.hours = 24};
    const struct settings_flag flags[] = {{.name = "hours", .seen = take_hours},
                                          {.name = "json", .at = offsetof(struct wanted, json)},
                                          {0}};
    const struct target_words words = {
        .usage = usage, .flags = flags, .arg = &wanted, .words_min = 1, .words_max = 1};
    const struct target_words none = {.usage = usage};
    struct target here, there;
    int first, unused, code;
    if (!target_begin(&here, &words, argc, argv, &first, &code))
        return code;
    char *other[] = {argv[0], (char[]){"-c"}, argv[first], NULL};
    if (wanted.hours < 1) {
        fprintf(stderr, "tidemark: --hours takes 1 to %d\n", HOURS_MAX);
        code = EXIT_USAGE;
    } else if (target_begin(&there, &none, 3, other, &unused, &code)) {
        code = run(&here, &there, &wanted);
        target_free(&there);
    }
    target_free(&here);
    return code;
}
