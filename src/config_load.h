/* SPDX-License-Identifier: Apache-2.0
 *
 * config_load.h - how a configuration comes about, and how people see it.
 *
 * All problems are collected, each with its place, up to a bound: a person mends the whole file at
 * once. No secret is in any problem, print or page of documentation.
 *
 * Owner: the caller.  Thread: one.  Refuses unknown keys, keys given twice and YAML tags. */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "config.h"

#define CONFIG_PROBLEMS_MAX 64

/* One line each, "tidemark.yaml:12:19: polling.posts_per_page is 101; it must be 1 to 100"; beyond
 * the bound they are only counted. */
struct config_problems {
    struct text lines;
    size_t count;
};

/* What config_load reads, weakest first; every part may be left out. */
struct config_sources {
    const char *file;
    bool file_optional;         /* a file that is not there is no problem */
    char *const *environment;   /* NULL-terminated NAME=value */
    const char *const *changes; /* path=value, from flags */
    size_t change_count;
    const char *const *flags; /* what problems call each of them; NULL, or one that is: "--set" */
};

void config_init(struct config *config); /* all defaults */
void config_deinit(struct config *config);
/* Initialises, reads all sources, then config_finish. RC_REJECT: there are problems; the config is
 * usable and must be released in either case. */
must_check enum rc config_load(struct config *config, const struct config_sources *sources,
                               struct config_problems *problems);
/* Reads a YAML document; `name` is what problems call it. */
void config_read_yaml(struct config *config, const char *name, struct bytes yaml,
                      struct config_problems *problems);
/* Reads every variable whose name is TIDEMARK_ and a block of settings. */
void config_read_environment(struct config *config, char *const *environment,
                             struct config_problems *problems);
/* Sets one path, also providers.NAME.KEY; `flag` is what problems call it ("--set"). */
void config_set(struct config *config, const char *flag, const char *path, const char *value,
                struct config_problems *problems);
/* Reads secret files and checks what concerns more than one setting; last of all. */
void config_finish(struct config *config, struct config_problems *problems);
/* What only the daemon minds, and would not start with; of a config that was loaded. */
void config_check_daemon(const struct config *config, struct config_problems *problems);
void config_problems_free(struct config_problems *problems);

/* The effective configuration as YAML; a comment names each value's origin. */
void config_print(const struct config *config, struct text *out);
/* docs/CONFIG.md */
void config_docs(struct text *out);
/* Appends a line with the path of each setting that differs in `fresh` and that only a restart can
 * bring into force; returns how many. */
size_t config_restart_needed(const struct config *config, const struct config *fresh,
                             struct text *paths);

#endif
