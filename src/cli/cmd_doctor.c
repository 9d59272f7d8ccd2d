/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/daemon_check.h"
#include "cli/doctor.h"
#include "cli/screen.h"
#include "cli/socket_client.h"
#include "config_tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: tidemark doctor [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Looks at the configuration, the store, the disk, files with secrets, every configured\n"
    "provider and the clock, and says what to fix: a line each, `ok|warn|FAIL what: finding. what\n"
    "to do`. Nothing is changed; a running daemon is asked, its store is not opened.\n"
    "  --json            one JSON object: ok, and checks with level, what, finding and advice\n"
    "Exit code: 0 nothing failed, 1 something did, 2 wrong usage.\n";

static void check_tokens(const char *path, struct doctor_report *report)
{
    struct tokens *tokens;
    struct err err;
    if (*path == '\0')
        return;
    if (tokens_read(path, &tokens, &err) != RC_OK) {
        doctor_say(report, DOCTOR_FAIL, "serve.tokens_file", NULL, "%s", err.text);
        return;
    }
    doctor_say(report, DOCTOR_OK, "serve.tokens_file", NULL, "%zu token%s", tokens->count,
               tokens->count == 1 ? "" : "s");
    free(tokens);
}

/* A refused value leaves the one that stood there, so that all else can be looked at too. */
static void check_configuration(struct settings *settings, struct doctor_report *report)
{
    struct config_problems problems = {0};
    settings->check = daemon_check;
    settings->good = settings_read(settings, &settings->config, &problems);
    settings->loaded = true;
    const char *line = text_string(&problems.lines);
    for (size_t len; *line != '\0'; line += len + (line[len] == '\n')) {
        len = strcspn(line, "\n");
        doctor_say(report, DOCTOR_FAIL, "configuration", NULL, "%.*s", (int)len, line);
    }
    if (settings->good)
        doctor_say(report, DOCTOR_OK, "configuration", NULL, "every setting is good");
    check_tokens(settings->config.serve.tokens_file, report);
    config_problems_free(&problems);
}

static int put(const struct doctor_report *report, bool json)
{
    struct text out = {0};
    bool color = screen_obeys(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    size_t failed = doctor_count(report, DOCTOR_FAIL);
    if (json)
        doctor_print_json(report, &out);
    else
        doctor_print_lines(report, color, &out);
    int code = target_put(&out);
    text_free(&out);
    if (!json)
        fprintf(stderr, "%zu checks, %zu warned, %zu failed\n", report->count,
                doctor_count(report, DOCTOR_WARN), failed);
    return code == EXIT_DONE && failed > 0 ? EXIT_FAILED : code;
}

int cmd_doctor(int argc, char **argv)
{
    static const struct settings_flag flags[] = {{.name = "json"}, {0}};
    bool json = false, help;
    struct target target = {0};
    struct doctor_report report = {0};
    struct doctor_clues clues = {0};
    int first = settings_parse(&target.settings, argc, argv, usage, flags, &json, &help);
    if (first < 0)
        return help ? EXIT_DONE : EXIT_USAGE;
    if (first < argc) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    check_configuration(&target.settings, &report);
    config_socket_path(&target.settings.config, &target.socket);
    target.doc = json_doc_new(SOCKET_ANSWER_MAX, JSON_ANSWER_DEPTH_MAX);
    target.seconds_max = DOCTOR_SECONDS;
    doctor_check_files(&target.settings.config, &report);
    doctor_check_store(&target, &clues, &report);
    doctor_check_providers(&target.settings.config, &clues, &report);
    doctor_check_clock(&clues, &report);
    int code = put(&report, json);
    doctor_report_free(&report);
    target_free(&target);
    return code;
}
