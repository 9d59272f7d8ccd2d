/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite.h"

#include "sys/clock.h"
#include "sys/lock_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUERY_COLUMNS_MAX 64
#define CLOCK_STEPS       4000

static const char *const column_types[] = {
    [CONFIG_FIELD_TEXT] = "TEXT",    [CONFIG_FIELD_INT] = "INTEGER",  [CONFIG_FIELD_FLOAT] = "REAL",
    [CONFIG_FIELD_BOOL] = "INTEGER", [CONFIG_FIELD_TIME] = "INTEGER", [CONFIG_FIELD_JSON] = "TEXT"};

static struct store_sqlite *of(struct store *store)
{
    assert(store != NULL && store->ops == &store_sqlite_ops);
    return (struct store_sqlite *)store;
}

static int last_errno(sqlite3_file *file)
{
    int why = 0;
    if (file != NULL && file->pMethods != NULL)
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &why);
    return why;
}

/* To SQLite a write beyond the quota is an I/O error; the file it was for knows more. */
static bool is_quota_full(struct store_sqlite *store)
{
    sqlite3_file *database = NULL, *log = NULL;
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, (void *)&database);
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, (void *)&log);
    return last_errno(database) == EDQUOT || last_errno(log) == EDQUOT;
}

/* Where SQLite makes a file or its shared memory, a disk without room is an I/O error to it. */
static bool is_disk_full(struct store_sqlite *store, int code)
{
    int primary = code & 0xff;
    if (store->db == NULL || (primary != SQLITE_IOERR && primary != SQLITE_CANTOPEN))
        return false;
    if (code == SQLITE_IOERR_WRITE && is_quota_full(store))
        return true;
    int why = sqlite3_system_errno(store->db);
    return why == ENOSPC || why == EDQUOT;
}

enum rc sqlite_fail(struct store_sqlite *store, int code, const char *doing, struct err *err)
{
    assert(code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE);
    enum rc rc = is_disk_full(store, code) ? RC_RETRY : RC_FATAL;
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* others kept the locks longer than SQLite tries; nothing was done */
    case SQLITE_FULL:
    case SQLITE_INTERRUPT:
        rc = RC_RETRY;
        break;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
        rc = RC_REJECT;
        break;
    default:
        break;
    }
    return err_set(err, rc, "SQLite %s: %s (%s)", doing,
                   store->db == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(store->db),
                   store->path);
}

enum rc sqlite_prepare(struct store_sqlite *store, const char *sql, sqlite3_stmt **statement,
                       struct err *err)
{
    assert(*statement == NULL);
    int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    return code == SQLITE_OK ? RC_OK : sqlite_fail(store, code, "cannot prepare a statement", err);
}

void sqlite_bind(sqlite3_stmt *statement, int at, const struct field *field)
{
    int code = SQLITE_OK;
    if (field->null)
        code = sqlite3_bind_null(statement, at);
    else if (field->type == FIELD_INT)
        code = sqlite3_bind_int64(statement, at, field->i);
    else if (field->type == FIELD_REAL)
        code = sqlite3_bind_double(statement, at, field->d);
    else if (field->type == FIELD_TEXT)
        code = sqlite3_bind_text64(statement, at, field->b.data, field->b.len, SQLITE_STATIC,
                                   SQLITE_UTF8);
    else
        code = sqlite3_bind_blob64(statement, at, field->b.data, field->b.len, SQLITE_STATIC);
    assert(code == SQLITE_OK || code == SQLITE_TOOBIG);
    if (code != SQLITE_OK) /* the row is then refused by its NOT NULL, or by the caller */
        sqlite3_bind_null(statement, at);
}

void sqlite_abandon(struct store_sqlite *store)
{
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

/* SQLite goes on in another mode where it cannot have this one, and says so only here. */
static enum rc check_log_mode(struct store_sqlite *store, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    enum rc rc = sqlite_prepare(store, "PRAGMA journal_mode", &statement, err);
    if (rc != RC_OK)
        return rc;
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW)
        rc = sqlite_fail(store, code, "cannot open the store", err);
    else if (strcmp((const char *)sqlite3_column_text(statement, 0), "wal") != 0)
        rc =
            err_set(err, RC_REJECT,
                    "%s cannot have a write-ahead log: put the store on a local disk", store->path);
    sqlite3_finalize(statement);
    return rc;
}

static enum rc set_up_connection(struct store_sqlite *store, enum store_mode mode, struct err *err)
{
    static const char writer[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                 "PRAGMA foreign_keys = ON;"
                                 "PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -8192;"
                                 "PRAGMA temp_store = MEMORY;";
    static const char reader[] = "PRAGMA query_only = ON; PRAGMA cache_size = -2048;"
                                 "PRAGMA temp_store = MEMORY;";
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, SQLITE_BUSY_MS_MAX);
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, 64 << 20);
    if (mode == STORE_BESIDE)
        return sqlite_set_up_beside(store, err);
    if (mode == STORE_MOVE)
        return sqlite_set_up_mover(store, err);
    int code = sqlite3_exec(store->db, mode == STORE_WRITE ? writer : reader, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite_words_declare(store);
    if (code != SQLITE_OK)
        return sqlite_fail(store, code, "cannot open the store", err);
    if (mode == STORE_READ)
        return RC_OK;
    sqlite_watch_log(store);
    return check_log_mode(store, err);
}

static void close_sqlite(struct store *base)
{
    struct store_sqlite *store = of(base);
    sqlite_finalize_writes(store);
    sqlite_empty_cache(store);
    sqlite3_close_v2(store->db);
    lock_file_release(store->lock_fd);
    free(store->path);
    free(store);
}

/* The library would make it for everybody to read; what it makes beside it has the same rights.
 * Only a file that is not there: to close another would give up the locks that others here have on
 * it. */
static void make_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static enum rc connect_to(struct store_sqlite *store, enum store_mode mode, struct err *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (mode == STORE_WRITE || mode == STORE_BESIDE) {
        flags |= SQLITE_OPEN_CREATE;
        make_private(store->path);
    }
    int code = sqlite3_open_v2(store->path, &store->db, flags, NULL);
    return code == SQLITE_OK ? set_up_connection(store, mode, err)
                             : sqlite_fail(store, code, "cannot open the store", err);
}

static struct store_sqlite *new_store(const char *path, enum store_mode mode)
{
    assert(mode != STORE_BUILD);
    struct store_sqlite *store = memory_new_zeroed(1, sizeof *store);
    struct text beside = {0};
    if (mode == STORE_BESIDE) {
        sqlite_path_beside(path, &beside);
        path = text_string(&beside);
    }
    store->store.ops = &store_sqlite_ops;
    store->path = memory_copy_string(path);
    store->lock_fd = -1;
    text_free(&beside);
    return store;
}

const char *sqlite_path_of(const char *url)
{
    assert(strncmp(url, "sqlite:", 7) == 0);
    return url + (strncmp(url + 7, "//", 2) == 0 ? 9 : 7);
}

/* With its folder: a daemon that was started in another one has the store there. */
static enum rc miss(const char *path, struct err *err)
{
    char folder[PATH_MAX] = "";
    assert(path != NULL && err != NULL);
    if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL)
        folder[0] = '\0';
    return err_set(err, RC_REJECT,
                   "there is no store at %s%s%s: `tidemark migrate` or `tidemark run` makes it",
                   folder, folder[0] == '\0' ? "" : "/", path);
}

static enum rc open_sqlite(const char *url, enum store_mode mode, struct store **out,
                           struct err *err)
{
    const char *path = sqlite_path_of(url);
    if (*path == '\0')
        return err_set(err, RC_REJECT, "store.url names no file: sqlite:PATH");
    struct store_sqlite *store = new_store(path, mode);
    enum rc rc = RC_OK;
    if ((mode == STORE_READ || mode == STORE_MOVE) && access(path, F_OK) != 0)
        rc = miss(path, err);
    if (mode == STORE_WRITE)
        rc = lock_file_take(path, &store->lock_fd, err);
    if (rc == RC_OK)
        rc = connect_to(store, mode, err);
    if (rc != RC_OK) {
        close_sqlite(&store->store);
        return rc;
    }
    *out = &store->store;
    return RC_OK;
}

static enum rc run_script(struct store *base, const char *sql, struct err *err)
{
    struct store_sqlite *store = of(base);
    int code = sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        return RC_OK;
    enum rc rc = sqlite_fail(store, code, "cannot run a script", err);
    sqlite_abandon(store);
    return rc;
}

/* A value is looked at as it is: no other thread has this connection. */
static struct field read_column(sqlite3_stmt *statement, int at)
{
    sqlite3_value *value = sqlite3_column_value(statement, at);
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return field_int(sqlite3_value_int64(value));
    case SQLITE_FLOAT:
        return field_real(sqlite3_value_double(value));
    case SQLITE_TEXT: {
        const unsigned char *text = sqlite3_value_text(value);
        return field_text(bytes_make(text, (size_t)sqlite3_value_bytes(value)));
    }
    case SQLITE_BLOB: {
        const void *blob = sqlite3_value_blob(value);
        size_t len = (size_t)sqlite3_value_bytes(value);
        return field_blob(bytes_make(blob == NULL ? "" : blob, len));
    }
    default:
        return field_null(FIELD_TEXT);
    }
}

bool sqlite_is_to_stop(const struct store_sqlite *store)
{
    return store->store.stop != NULL && store->store.stop(store->store.stop_arg);
}

/* Called by SQLite every few thousand steps; not 0 ends the query. */
static int look_at_clock(void *arg)
{
    const struct store_sqlite *store = arg;
    return store->store.query_us_max > 0 ? clock_mono_us() > store->query_end_us
                                         : sqlite_is_to_stop(store);
}

static void begin_query(struct store_sqlite *store)
{
    if (store->store.query_us_max == 0 && store->store.stop == NULL)
        return;
    store->query_end_us = clock_mono_us() + store->store.query_us_max;
    sqlite3_progress_handler(store->db, CLOCK_STEPS, look_at_clock, store);
}

static enum rc end_query(struct store_sqlite *store, int code, struct err *err)
{
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return RC_OK;
    if ((code & 0xff) == SQLITE_INTERRUPT && store->store.query_us_max == 0)
        return err_set(err, RC_AGAIN, "the program is stopping");
    if ((code & 0xff) == SQLITE_INTERRUPT)
        return err_set(err, RC_AGAIN, "the query took longer than %" PRId64 " ms",
                       store->store.query_us_max / 1000);
    return sqlite_fail(store, code, "cannot read", err);
}

static enum rc run_query(struct store *base, const char *sql, const struct field *params,
                         size_t param_count, row_fn *fn, void *arg, struct err *err)
{
    struct store_sqlite *store = of(base);
    sqlite3_stmt *statement = NULL;
    struct field columns[QUERY_COLUMNS_MAX];
    enum rc rc = sqlite_take_statement(store, sql, &statement, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < param_count; i++)
        sqlite_bind(statement, (int)i + 1, &params[i]);
    int count = sqlite3_column_count(statement);
    assert(count <= QUERY_COLUMNS_MAX);
    int code;
    begin_query(store);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < count; i++)
            columns[i] = read_column(statement, i);
        if (!fn(arg, columns, (size_t)count))
            break;
    }
    rc = end_query(store, code, err);
    sqlite_give_statement(store, statement);
    return rc;
}

static enum rc look_for_writer(struct store *base, bool *alive, struct text *holder,
                               struct err *err)
{
    (void)err;
    *alive = lock_file_is_held(of(base)->path, holder);
    return RC_OK;
}

const struct store_ops store_sqlite_ops = {
    .name = "sqlite",
    .near = true,
    .migrations = migrations_sqlite,
    .size_sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    .column_types = column_types,
    .null_first = "",
    .open = open_sqlite,
    .close = close_sqlite,
    .script = run_script,
    .query = run_query,
    .write = sqlite_write,
    .position = store_read_position,
    .log_is_due = sqlite_log_is_due,
    .move_log = sqlite_move_log,
    .backup = sqlite_copy,
    .writer = look_for_writer,
    .mend_beside = sqlite_mend_beside,
};
