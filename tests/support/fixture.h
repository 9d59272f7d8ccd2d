/* SPDX-License-Identifier: Apache-2.0
 *
 * fixture.h - a fresh, empty store for one test, on either database.
 *
 * SQLite stores lie in a temporary folder of their own; PostgreSQL stores are databases of the
 * server that runs beside the tests (TIDEMARK_TEST_POSTGRES). */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <stdbool.h>

struct fixture {
    char url[512];
    char folder[256]; /* a temporary folder for the test's own files */
};

enum fixture_kind { FIXTURE_SQLITE, FIXTURE_POSTGRES };

/* Aborts with a sentence when it cannot be made. */
void fixture_open(struct fixture *fixture, enum fixture_kind kind);
void fixture_close(struct fixture *fixture);
const char *fixture_kind_name(enum fixture_kind kind);

#endif
