/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/settings.h"
#include "daemon.h"
#include "sys/log.h"

#include <stdio.h>

static const char usage[] =
    "usage: tidemark run [-c FILE] [--set PATH=VALUE]... [--actor HANDLE]...\n"
    "Follows every configured source into the store until it is told to stop (SIGTERM, Ctrl-C).\n"
    "  --actor HANDLE    follow what this account follows; may be repeated\n";

#define ACTORS_MAX 16

struct actors {
    const char *names[ACTORS_MAX];
    size_t count;
};

static void add_actor(void *arg, const char *value)
{
    struct actors *actors = arg;
    if (actors->count < ACTORS_MAX)
        actors->names[actors->count++] = value;
}

static void set_actors(struct settings *settings, const struct actors *actors)
{
    struct text list = {0};
    if (actors->count == 0)
        return;
    text_append_char(&list, '[');
    for (size_t i = 0; i < actors->count; i++)
        text_appendf(&list, "%s\"%s\"", i > 0 ? ", " : "", actors->names[i]);
    text_append_char(&list, ']');
    settings_change(settings, "bluesky.actors", text_string(&list));
    text_free(&list);
}

static enum rc open_log(const struct config *config, struct err *err)
{
    struct log_options options = {
        .format = config->log.format == CONFIG_LOG_JSON ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT,
        .level = (enum log_level)config->log.level,
        .file = config->log.file,
    };
    if (config->log.rotate[0] != '\0' &&
        !log_rotate_parse(bytes_of(config->log.rotate), &options.rotate_bytes,
                          &options.rotate_count))
        return err_set(err, RC_REJECT, "log.rotate is \"%s\"; it must look like 10M:5",
                       config->log.rotate);
    return log_open(&options, err);
}

int cmd_run(int argc, char **argv)
{
    static const struct settings_flag flags[] = {{"actor", true, add_actor}, {0}};
    struct actors actors = {0};
    struct settings settings;
    struct err err;
    bool help;
    int rest = settings_parse(&settings, argc, argv, usage, flags, &actors, &help);
    if (rest < 0)
        return help ? EXIT_DONE : EXIT_USAGE;
    if (rest != argc) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    set_actors(&settings, &actors);
    int code = EXIT_FAILED;
    if (settings_load(&settings)) {
        if (open_log(&settings.config, &err) != RC_OK) {
            fprintf(stderr, "tidemark: %s\n", err.text);
        } else {
            code = daemon_run(&(struct daemon_options){.config = &settings.config});
            log_close();
        }
    }
    settings_free(&settings);
    return code;
}
