/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/settings.h"
#include "daemon.h"
#include "sys/held_signals.h"
#include "sys/log.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tidemark run [-c FILE] [--set PATH=VALUE]... [--actor HANDLE]...\n"
    "Follows every configured source into the store until it is told to stop (SIGTERM, Ctrl-C).\n"
    "  --actor HANDLE    follow what this account follows; may be repeated\n";

/* The names become a list as a setting's value is written. */
static void add_actor(void *arg, const char *value)
{
    struct text *actors = arg;
    text_appendf(actors, "%s\"%s\"", actors->len == 0 ? "[" : ", ", value);
}

static void set_actors(struct settings *settings, struct text *actors)
{
    if (actors->len > 0) {
        text_append_char(actors, ']');
        settings_change(settings, "--actor", "bluesky.actors", text_string(actors));
    }
    text_free(actors);
}

/* SIGHUP: the same files, variables and flags once more. */
static bool reload(void *arg, struct config *fresh)
{
    struct config_problems problems = {0};
    bool good = settings_read(arg, fresh, &problems);
    const char *at = text_string(&problems.lines);
    for (size_t len; (len = strcspn(at, "\n")) > 0; at += len + (at[len] != '\0'))
        log_event(LOG_ERROR, "config", "problem",
                  (struct log_field[]){log_text("reason", bytes_make(at, len)), LOG_END});
    config_problems_free(&problems);
    if (!good)
        config_deinit(fresh);
    return good;
}

int cmd_run(int argc, char **argv)
{
    static const struct settings_flag flags[] = {{.name = "actor", .seen = add_actor}, {0}};
    struct text actors = {0};
    struct settings settings;
    struct err err;
    bool help;
    held_signals_begin(); /* a stop that comes early is heeded when it can be */
    int rest = settings_parse(&settings, argc, argv, usage, flags, &actors, &help);
    if (rest != argc) {
        text_free(&actors);
        if (rest >= 0)
            fputs(usage, stderr);
        return help ? EXIT_DONE : EXIT_USAGE;
    }
    set_actors(&settings, &actors);
    settings.check = config_check_daemon;
    int code = EXIT_FAILED;
    if (settings_load(&settings)) {
        if (daemon_open_log(&settings.config, &err) != RC_OK) {
            fprintf(stderr, "tidemark: %s\n", err.text);
        } else {
            code = daemon_run(&(struct daemon_options){.config = &settings.config,
                                                       .file = settings_file(&settings),
                                                       .reload = reload,
                                                       .reload_arg = &settings});
            log_close();
        }
    }
    settings_free(&settings);
    return code;
}
