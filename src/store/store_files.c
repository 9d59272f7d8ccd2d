/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_files.h"

#include "store/store_sqlite.h"

#include <libpq-fe.h>
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
