/* SPDX-License-Identifier: Apache-2.0
 *
 * The least a start can be: opens a store's SQLite file, reads the cursor row, says so with one
 * byte and ends without closing, so that a log it found stays as it was.
 *
 *   bare_reader PATH */
#include <sqlite3.h>

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    if (argc != 2 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "SELECT state FROM cursors WHERE source = 'jetstream'", -1, &row,
                           NULL) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_ROW || write(STDOUT_FILENO, "r", 1) != 1)
        _exit(EXIT_FAILURE);
    _exit(EXIT_SUCCESS);
}
