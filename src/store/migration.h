/* SPDX-License-Identifier: Apache-2.0
 *
 * migration.h - one numbered step of the schema.
 *
 * Steps are numbered from 1 without holes, applied in order, one transaction each, and remembered
 * with a checksum: a step that was applied never changes. A table of them ends with version 0. */
#ifndef STORE_MIGRATION_H
#define STORE_MIGRATION_H

struct migration {
    int version;
    const char *name;
    const char *sql;
};

/* Told of each step before it is applied: `done` of the `due` ones are. */
struct migration_watch {
    void (*step)(void *arg, const struct migration *step, unsigned done, unsigned due);
    void *arg;
};

extern const struct migration migrations_sqlite[], migrations_postgres[];

#endif
