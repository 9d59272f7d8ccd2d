/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/daemon_check.h"
#include "cli/settings.h"
#include "config_tokens.h"
#include "query/collection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: tidemark config check|print|docs [-c FILE] [--set PATH=VALUE]...\n"
    "  check  read file, environment and flags; report every problem\n"
    "  print  the values in force, as YAML, each with its origin\n"
    "  docs   every setting, as Markdown\n"
    "Without -c, tidemark.yaml is read if it is there.\n";

static int put(struct text *text)
{
    bool written = text->len == 0 || fwrite(text->data, 1, text->len, stdout) == text->len;
    text_free(text);
    return written && fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int check_tokens(const char *path)
{
    struct tokens *tokens;
    struct err err;
    if (*path == '\0')
        return EXIT_DONE;
    if (tokens_read(path, &tokens, &err) != RC_OK) {
        fprintf(stderr, "serve.tokens_file: %s\n", err.text);
        return EXIT_FAILED;
    }
    free(tokens);
    return EXIT_DONE;
}

static int load(struct settings *settings, bool print)
{
    struct text out = {0};
    int code = EXIT_FAILED;
    settings->check = print ? NULL : daemon_check;
    if (settings_load(settings) && print) {
        config_print(&settings->config, &out);
        code = put(&out);
    } else if (settings->loaded && settings->good) {
        code = check_tokens(settings->config.serve.tokens_file);
        if (code == EXIT_DONE)
            fputs("the configuration is good\n", stderr);
    }
    settings_free(settings);
    return code;
}

int cmd_config(int argc, char **argv)
{
    struct settings settings;
    bool help;
    int rest = settings_parse(&settings, argc, argv, usage, NULL, NULL, &help);
    if (rest < 0)
        return help ? EXIT_DONE : EXIT_USAGE;
    const char *what = rest + 1 == argc ? argv[rest] : "";
    if (strcmp(what, "check") == 0 || strcmp(what, "print") == 0)
        return load(&settings, what[0] == 'p');
    if (strcmp(what, "docs") != 0) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    struct text docs = {0};
    config_docs(&docs);
    collection_docs(&docs);
    return put(&docs);
}
