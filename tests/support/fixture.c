/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <libpq-fe.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "fixture: %s: %s\n", what, why);
    abort();
}

const char *fixture_kind_name(enum fixture_kind kind)
{
    return kind == FIXTURE_SQLITE ? "sqlite" : "postgres";
}

static void run_on_server(const char *sql)
{
    const char *server = getenv("TIDEMARK_TEST_POSTGRES");
    if (server == NULL)
        fail("no PostgreSQL", "run the test through tests/support/with_postgres");
    PGconn *connection = PQconnectdb(server);
    PGresult *result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail(sql, PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
}

static void name_database(struct fixture *fixture, char *name, size_t size)
{
    snprintf(name, size, "%s", strrchr(fixture->folder, '/') + 1);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '-')
            *c = '_';
}

void fixture_open(struct fixture *fixture, enum fixture_kind kind)
{
    const char *base = getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR");
    snprintf(fixture->folder, sizeof fixture->folder, "%s/tidemark-test-XXXXXX", base);
    if (mkdtemp(fixture->folder) == NULL)
        fail("cannot make a folder", fixture->folder);
    if (kind == FIXTURE_SQLITE) {
        snprintf(fixture->url, sizeof fixture->url, "sqlite:%s/store.db", fixture->folder);
        return;
    }
    char name[128], sql[256];
    name_database(fixture, name, sizeof name);
    snprintf(sql, sizeof sql, "CREATE DATABASE \"%s\" TEMPLATE template0", name);
    run_on_server(sql);
    const char *server = getenv("TIDEMARK_TEST_POSTGRES");
    size_t prefix = (size_t)(strrchr(server, '/') - server);
    snprintf(fixture->url, sizeof fixture->url, "%.*s/%s", (int)prefix, server, name);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

void fixture_close(struct fixture *fixture)
{
    if (strncmp(fixture->url, "sqlite:", 7) != 0) {
        char name[128], sql[256];
        name_database(fixture, name, sizeof name);
        snprintf(sql, sizeof sql, "DROP DATABASE \"%s\" WITH (FORCE)", name);
        run_on_server(sql);
    }
    nftw(fixture->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
