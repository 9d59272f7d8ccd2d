/* SPDX-License-Identifier: Apache-2.0
 *
 * settings.h - the flags every command understands, and the configuration they lead to.
 *
 *   -c FILE           the configuration; without it tidemark.yaml, if it is there
 *   --set PATH=VALUE  one setting, stronger than file and environment; may be repeated
 *   -h, --help        the command's usage
 *
 * Problems are printed on stderr, all of them. Owner: the command. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "config_load.h"

#include <getopt.h>

#define SETTINGS_CHANGES_MAX 64 /* given with --set */
#define SETTINGS_MADE_MAX    1
#define SETTINGS_OPTIONS_MAX 16

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct settings {
    const char *file;
    const char *changes[SETTINGS_CHANGES_MAX + SETTINGS_MADE_MAX];
    const char *flags[SETTINGS_CHANGES_MAX + SETTINGS_MADE_MAX]; /* as given; NULL: --set */
    size_t change_count;
    char *made[SETTINGS_MADE_MAX]; /* changes that flags were turned into */
    size_t made_count;
    struct config config; /* once loaded */
    /* What else this command minds; NULL: nothing. */
    void (*check)(const struct config *config, struct config_problems *problems);
    bool loaded, good;
};

/* A command's own flag: it takes a value, or sets a bool. */
struct settings_flag {
    const char *name;
    void (*seen)(void *arg, const char *value);
    size_t at; /* without `seen`: where in `arg` the bool is */
};

/* Reads the flags in argv[1..]; returns the index of the first word that is none, or -1 after it
 * printed what is wrong (or the usage that was asked for, with *help true). `flags` end with a NULL
 * name and may be NULL. */
int settings_parse(struct settings *settings, int argc, char **argv, const char *usage,
                   const struct settings_flag *flags, void *arg, bool *help);
/* Adds PATH=VALUE as if --set had been given; problems name the `flag`, a constant. */
void settings_change(struct settings *settings, const char *flag, const char *path,
                     const char *value);
/* False when the configuration has problems, which were printed. */
must_check bool settings_load(struct settings *settings);
/* The same again into another struct, which is to be released in either case; the problems are the
 * caller's. */
must_check bool settings_read(const struct settings *settings, struct config *config,
                              struct config_problems *problems);
/* The file that is read, whether it is there or not. */
const char *settings_file(const struct settings *settings);
void settings_free(struct settings *settings);

#endif
