#ifndef HALYARD_CSQLITE_SHIM_H
#define HALYARD_CSQLITE_SHIM_H

#include <sqlite3.h>

// Swift cannot call variadic functions; these are the few settings that need one.

static inline int halyard_sqlite3_db_config(sqlite3 *db, int option, int value) {
    int now = 0;
    int code = sqlite3_db_config(db, option, value, &now);
    return code != SQLITE_OK ? code : (now == value ? SQLITE_OK : SQLITE_ERROR);
}

// Switches off the statistics of memory in use, which need a lock at each allocation. Works only before the first
// connection of the process; later it changes nothing and returns SQLITE_MISUSE.
static inline int halyard_sqlite3_without_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// The file of the WAL, or of the rollback journal if there is no WAL.
static inline sqlite3_file *halyard_sqlite3_journal(sqlite3 *db) {
    sqlite3_file *file = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK ? file : 0;
}

// The errno of the last failed file operation on the database or, if there was none, on its log; otherwise 0.
static inline int halyard_sqlite3_failed_call(sqlite3 *db) {
    int code = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &code) == SQLITE_OK && code != 0) return code;
    sqlite3_file *log = halyard_sqlite3_journal(db);
    if (log && log->pMethods && log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &code) == SQLITE_OK) return code;
    return 0;
}

#endif
