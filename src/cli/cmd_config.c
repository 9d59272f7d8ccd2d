/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_config.h"

#include "config_load.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_INITIAL "tidemark.yaml"
#define CHANGES_MAX  64

enum { DONE, FAILED, USAGE };

static const char usage[] =
    "usage: tidemark config check|print|docs [-c FILE] [--set PATH=VALUE]...\n"
    "  check  read file, environment and flags; report every problem\n"
    "  print  the values in force, as YAML, each with its origin\n"
    "  docs   every setting, as Markdown\n"
    "Without -c, " FILE_INITIAL " is read if it is there.\n";

static int put(const struct text *text)
{
    if (text->len > 0 && fwrite(text->data, 1, text->len, stdout) != text->len)
        return FAILED;
    return fflush(stdout) == 0 ? DONE : FAILED;
}

static int complain(const struct config_problems *problems)
{
    fputs(text_string(&problems->lines), stderr);
    if (problems->count > CONFIG_PROBLEMS_MAX)
        fprintf(stderr, "and %zu more\n", problems->count - CONFIG_PROBLEMS_MAX);
    fprintf(stderr, "%zu problem%s\n", problems->count, problems->count == 1 ? "" : "s");
    return FAILED;
}

static int load(const struct config_sources *sources, bool print)
{
    struct config config;
    struct config_problems problems = {0};
    struct text out = {0};
    int code = DONE;
    if (config_load(&config, sources, &problems) != RC_OK) {
        code = complain(&problems);
    } else if (print) {
        config_print(&config, &out);
        code = put(&out);
    } else {
        fputs("the configuration is good\n", stderr);
    }
    text_free(&out);
    config_problems_free(&problems);
    config_deinit(&config);
    return code;
}

int cmd_config(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"set", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *changes[CHANGES_MAX];
    struct config_sources sources = {
        .file = FILE_INITIAL, .file_optional = true, .environment = environ, .changes = changes};
    optind = 0; /* start afresh: another command may have read its own options */
    for (int option; (option = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
        if (option == 'c') {
            sources.file = optarg;
            sources.file_optional = false;
        } else if (option == 's' && sources.change_count < CHANGES_MAX) {
            changes[sources.change_count++] = optarg;
        } else if (option == 'h') {
            fputs(usage, stderr);
            return DONE;
        } else {
            fputs(usage, stderr);
            return USAGE;
        }
    }
    const char *what = optind + 1 == argc ? argv[optind] : "";
    if (strcmp(what, "check") == 0 || strcmp(what, "print") == 0)
        return load(&sources, what[0] == 'p');
    if (strcmp(what, "docs") != 0) {
        fputs(usage, stderr);
        return USAGE;
    }
    struct text docs = {0};
    config_docs(&docs);
    int code = put(&docs);
    text_free(&docs);
    return code;
}
