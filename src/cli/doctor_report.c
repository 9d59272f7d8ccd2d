/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_report.h"

#include "base/json_write.h"
#include "cli/table.h"

#include <stdlib.h>

static const struct {
    const char *word, *json, *color;
} levels[] = {[DOCTOR_OK] = {"ok", "ok", "\033[32m"},
              [DOCTOR_WARN] = {"warn", "warn", "\033[33m"},
              [DOCTOR_FAIL] = {"FAIL", "fail", "\033[31m"}};

void doctor_report_free(struct doctor_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        text_free(&report->findings[i].what);
        text_free(&report->findings[i].words);
    }
    free(report->findings);
    *report = (struct doctor_report){0};
}

void doctor_say(struct doctor_report *report, enum doctor_level level, const char *what,
                const char *advice, const char *format, ...)
{
    va_list args;
    if (report->count == report->room) {
        report->room = report->room == 0 ? 32 : report->room * 2;
        report->findings = memory_resize(report->findings, report->room * sizeof *report->findings);
    }
    struct doctor_finding *finding = &report->findings[report->count++];
    *finding = (struct doctor_finding){.level = level, .advice = advice};
    text_append_string(&finding->what, what);
    va_start(args, format);
    text_vappendf(&finding->words, format, args);
    va_end(args);
}

size_t doctor_count(const struct doctor_report *report, enum doctor_level level)
{
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        count += report->findings[i].level == level;
    return count;
}

void doctor_print_lines(const struct doctor_report *report, bool color, struct text *out)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->findings[i];
        text_appendf(out, "%s%-4s%s ", color ? levels[finding->level].color : "",
                     levels[finding->level].word, color ? "\033[0m" : "");
        table_tame(out, text_bytes(&finding->what), 0);
        text_append_string(out, ": ");
        table_tame(out, text_bytes(&finding->words), 0);
        if (finding->advice != NULL)
            text_appendf(out, ". %s", finding->advice);
        text_append_char(out, '\n');
    }
}

void doctor_print_json(const struct doctor_report *report, struct text *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, "ok");
    json_put_bool(&writer, doctor_count(report, DOCTOR_FAIL) == 0);
    json_key(&writer, "checks");
    json_begin_array(&writer);
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->findings[i];
        json_begin_object(&writer);
        json_key(&writer, "level");
        json_put_cstring(&writer, levels[finding->level].json);
        json_key(&writer, "what");
        json_put_string(&writer, text_bytes(&finding->what));
        json_key(&writer, "finding");
        json_put_string(&writer, text_bytes(&finding->words));
        json_key(&writer, "advice");
        json_put_cstring(&writer, finding->advice);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
    text_append_char(out, '\n');
}
