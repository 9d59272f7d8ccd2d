/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_files.h"

#include "store/store_sqlite.h"

#include <libpq-fe.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool names_file(const char *keyword)
{
    static const char *const keywords[] = {"passfile",    "sslcert", "sslkey",
                                           "sslrootcert", "sslcrl",  "sslcrldir"};
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcmp(keyword, keywords[i]) == 0)
            return true;
    return false;
}

static void name_options(PQconninfoOption *options, store_file_fn *fn, void *arg)
{
    for (PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        if (names_file(option->keyword) && option->val != NULL && option->val[0] != '\0')
            fn(arg, option->val, false);
    PQconninfoFree(options);
}

/* What the address says, what the environment says, and where the library looks without a word. */
static void name_client_files(const char *url, store_file_fn *fn, void *arg)
{
    static const char *const usual[] = {"~/.pgpass", "~/.pg_service.conf", "~/.postgresql"};
    name_options(PQconninfoParse(url, NULL), fn, arg);
    name_options(PQconndefaults(), fn, arg);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        fn(arg, usual[i], false);
}

void store_files(const char *url, store_file_fn *fn, void *arg)
{
    if (strncmp(url, "sqlite:", 7) == 0)
        fn(arg, sqlite_path_of(url), true);
    else
        name_client_files(url, fn, arg);
}

/* The folder is there before the file is. */
static void append_whole_path(const char *path, struct text *out)
{
    char whole[PATH_MAX];
    const char *base = strrchr(path, '/');
    struct text folder = {0};
    text_append(&folder, base == NULL ? "." : path, base == NULL ? 1 : (size_t)(base - path) + 1);
    if (realpath(path, whole) != NULL)
        text_append_string(out, whole);
    else if (realpath(text_string(&folder), whole) != NULL)
        text_appendf(out, "%s/%s", strcmp(whole, "/") == 0 ? "" : whole,
                     base == NULL ? path : base + 1);
    else
        text_append_string(out, path);
    text_free(&folder);
}

static void append_database(const char *url, struct text *out)
{
    static const char *const places[] = {"host", "hostaddr", "port", "dbname", "service"};
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    text_append_string(out, "postgresql:");
    for (PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
            if (strcmp(option->keyword, places[i]) == 0 && option->val != NULL)
                text_appendf(out, " %s=%s", option->keyword, option->val);
    PQconninfoFree(options);
}

void store_name(const char *url, struct text *out)
{
    if (strncmp(url, "sqlite:", 7) == 0) {
        text_append_string(out, "sqlite:");
        append_whole_path(sqlite_path_of(url), out);
    } else {
        append_database(url, out);
    }
}
