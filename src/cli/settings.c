/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/settings.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_INITIAL "tidemark.yaml"
#define OWN_FLAG     256

static int report_bad_word(const char *usage)
{
    fputs(usage, stderr);
    return -1;
}

static int report_many_changes(void)
{
    fprintf(stderr, "tidemark: --set may be given %d times; write a file instead\n",
            SETTINGS_CHANGES_MAX);
    return -1;
}

static size_t list_options(struct option *options, const struct settings_flag *flags)
{
    size_t count = 0;
    options[count++] = (struct option){"help", no_argument, NULL, 'h'};
    options[count++] = (struct option){"config", required_argument, NULL, 'c'};
    options[count++] = (struct option){"set", required_argument, NULL, 's'};
    for (int i = 0; flags != NULL && flags[i].name != NULL; i++) {
        assert(count + 1 < SETTINGS_OPTIONS_MAX);
        options[count++] =
            (struct option){flags[i].name, flags[i].seen != NULL ? required_argument : no_argument,
                            NULL, OWN_FLAG + i};
    }
    options[count] = (struct option){0};
    return count;
}

static void see(const struct settings_flag *flag, void *arg, const char *value)
{
    if (flag->seen != NULL)
        flag->seen(arg, value);
    else
        *(bool *)((char *)arg + flag->at) = true;
}

int settings_parse(struct settings *settings, int argc, char **argv, const char *usage,
                   const struct settings_flag *flags, void *arg, bool *help)
{
    struct option options[SETTINGS_OPTIONS_MAX + 1];
    *settings = (struct settings){0};
    *help = false;
    list_options(options, flags);
    optind = 0;
    for (int found; (found = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
        if (found == 'h') {
            *help = true;
            fputs(usage, stdout);
            return -1;
        }
        if (found == 'c')
            settings->file = optarg;
        else if (found == 's' && settings->change_count < SETTINGS_CHANGES_MAX)
            settings->changes[settings->change_count++] = optarg;
        else if (found == 's')
            return report_many_changes();
        else if (found >= OWN_FLAG)
            see(&flags[found - OWN_FLAG], arg, optarg);
        else
            return report_bad_word(usage);
    }
    return optind;
}

void settings_change(struct settings *settings, const char *flag, const char *path,
                     const char *value)
{
    struct text change = {0};
    assert(settings->made_count < SETTINGS_MADE_MAX);
    text_appendf(&change, "%s=%s", path, value);
    settings->made[settings->made_count++] = change.data;
    settings->flags[settings->change_count] = flag;
    settings->changes[settings->change_count++] = change.data;
}

const char *settings_file(const struct settings *settings)
{
    return settings->file == NULL ? FILE_INITIAL : settings->file;
}

bool settings_read(const struct settings *settings, struct config *config,
                   struct config_problems *problems)
{
    struct config_sources sources = {
        .file = settings_file(settings),
        .file_optional = settings->file == NULL,
        .environment = environ,
        .changes = settings->changes,
        .change_count = settings->change_count,
        .flags = settings->flags,
    };
    bool good = config_load(config, &sources, problems) == RC_OK;
    if (settings->check != NULL)
        settings->check(config, problems);
    return good && problems->count == 0;
}

bool settings_load(struct settings *settings)
{
    struct config_problems problems = {0};
    bool good = settings_read(settings, &settings->config, &problems);
    settings->loaded = true;
    settings->good = good;
    if (!good) {
        fputs(text_string(&problems.lines), stderr);
        fprintf(stderr, "%zu problem%s in the configuration\n", problems.count,
                problems.count == 1 ? "" : "s");
    }
    config_problems_free(&problems);
    return good;
}

void settings_free(struct settings *settings)
{
    if (settings->loaded)
        config_deinit(&settings->config);
    for (size_t i = 0; i < settings->made_count; i++)
        free(settings->made[i]);
}
