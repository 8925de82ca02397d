#ifndef HALYARD_CSQLITE_SHIM_H
#define HALYARD_CSQLITE_SHIM_H

#include <sqlite3.h>

// Swift cannot call variadic functions; these are the few settings that need one.

static inline int halyard_sqlite3_db_config(sqlite3 *db, int option, int value) {
    int now = 0;
    int code = sqlite3_db_config(db, option, value, &now);
    return code != SQLITE_OK ? code : (now == value ? SQLITE_OK : SQLITE_ERROR);
}

// The WAL as a file, or the rollback journal where there is no WAL.
static inline sqlite3_file *halyard_sqlite3_journal(sqlite3 *db) {
    sqlite3_file *file = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK ? file : 0;
}

#endif
