/* SPDX-License-Identifier: Apache-2.0
 *
 * test_config.h - a configuration out of a few lines, for the tests of its parts. */
#ifndef TEST_CONFIG_H
#define TEST_CONFIG_H

#include "config_load.h"
#include "config_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct loaded {
    struct config config;
    struct config_problems problems;
};

static inline struct loaded load_all(const char *yaml, char *const *environment, const char *path,
                                     const char *value)
{
    struct loaded loaded = {0};
    config_init(&loaded.config);
    config_read_yaml(&loaded.config, "t.yaml", bytes_of(yaml), &loaded.problems);
    if (environment != NULL)
        config_read_environment(&loaded.config, environment, &loaded.problems);
    if (path != NULL)
        config_set(&loaded.config, "--set", path, value, &loaded.problems);
    config_finish(&loaded.config, &loaded.problems);
    return loaded;
}

static inline struct loaded load(const char *yaml)
{
    return load_all(yaml, NULL, NULL, NULL);
}

static inline void unload(struct loaded *loaded)
{
    config_deinit(&loaded->config);
    config_problems_free(&loaded->problems);
}

/* The document has exactly these problems. */
static inline void expect(const char *yaml, const char *lines)
{
    struct loaded loaded = load(yaml);
    assert_string_equal(text_string(&loaded.problems.lines), lines);
    unload(&loaded);
}

static inline void expect_good(const struct loaded *loaded)
{
    assert_string_equal(text_string(&loaded->problems.lines), "");
    assert_int_equal(loaded->problems.count, 0);
}

#endif
