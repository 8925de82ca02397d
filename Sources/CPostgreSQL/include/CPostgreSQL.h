// The functions of libpq that Halyard uses.
//
// The library is loaded at run time, by the first connection: it brings TLS, Kerberos and LDAP with it, which a machine
// without PostgreSQL should neither install nor load. Its interface, libpq.so.5, only grows, so the declarations are
// repeated here and a build needs no headers of PostgreSQL. The newest functions came with PostgreSQL 14.

#ifndef CPOSTGRESQL_H
#define CPOSTGRESQL_H

#include <stddef.h>

typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef struct pg_cancel PGcancel;
typedef struct pgNotify {
    char *relname;
    int be_pid;
    char *extra;
    struct pgNotify *next;
} PGnotify;
typedef void (*halyard_pq_notice)(void *, const char *);

enum {
    HALYARD_PQ_CONNECTION_OK = 0,
    HALYARD_PQ_EMPTY_QUERY = 0,
    HALYARD_PQ_COMMAND_OK = 1,
    HALYARD_PQ_TUPLES_OK = 2,
    HALYARD_PQ_FATAL_ERROR = 7,
    HALYARD_PQ_PIPELINE_SYNC = 10,
    HALYARD_PQ_PIPELINE_ABORTED = 11,
    HALYARD_PQ_TRANS_IDLE = 0,
    // Fields of an error.
    HALYARD_PQ_DIAG_SQLSTATE = 'C',
    HALYARD_PQ_DIAG_MESSAGE = 'M',
    HALYARD_PQ_DIAG_DETAIL = 'D',
    HALYARD_PQ_DIAG_CONSTRAINT = 'n',
};

// Each line: the return type, the name without its prefix, the parameters, and the arguments.
#define HALYARD_PQ_FUNCTIONS(F) \
    F(PGconn *, connectdbParams, (const char *const *names, const char *const *values, int expand), \
      (names, values, expand)) \
    F(int, status, (const PGconn *c), (c)) \
    F(void, finish, (PGconn *c), (c)) \
    F(char *, errorMessage, (const PGconn *c), (c)) \
    F(char *, host, (const PGconn *c), (c)) \
    F(char *, port, (const PGconn *c), (c)) \
    F(char *, db, (const PGconn *c), (c)) \
    F(int, serverVersion, (const PGconn *c), (c)) \
    F(int, backendPID, (const PGconn *c), (c)) \
    F(int, socket, (const PGconn *c), (c)) \
    F(int, transactionStatus, (const PGconn *c), (c)) \
    F(int, setnonblocking, (PGconn *c, int on), (c, on)) \
    F(int, sendQuery, (PGconn *c, const char *sql), (c, sql)) \
    F(int, sendPrepare, \
      (PGconn *c, const char *name, const char *sql, int count, const unsigned *types), (c, name, sql, count, types)) \
    F(int, sendQueryPrepared, \
      (PGconn *c, const char *name, int count, const char *const *values, const int *lengths, const int *formats, \
       int binary), \
      (c, name, count, values, lengths, formats, binary)) \
    F(int, enterPipelineMode, (PGconn *c), (c)) \
    F(int, pipelineSync, (PGconn *c), (c)) \
    F(int, exitPipelineMode, (PGconn *c), (c)) \
    F(int, flush, (PGconn *c), (c)) \
    F(int, consumeInput, (PGconn *c), (c)) \
    F(int, isBusy, (PGconn *c), (c)) \
    F(PGresult *, getResult, (PGconn *c), (c)) \
    F(PGnotify *, notifies, (PGconn *c), (c)) \
    F(void, freemem, (void *p), (p)) \
    F(PGcancel *, getCancel, (PGconn *c), (c)) \
    F(void, freeCancel, (PGcancel *p), (p)) \
    F(int, cancel, (PGcancel *p, char *error, int size), (p, error, size)) \
    F(int, resultStatus, (const PGresult *r), (r)) \
    F(char *, resultErrorField, (const PGresult *r, int field), (r, field)) \
    F(char *, resultErrorMessage, (const PGresult *r), (r)) \
    F(void, clear, (PGresult *r), (r)) \
    F(int, ntuples, (const PGresult *r), (r)) \
    F(int, nfields, (const PGresult *r), (r)) \
    F(char *, getvalue, (const PGresult *r, int row, int column), (r, row, column)) \
    F(int, getlength, (const PGresult *r, int row, int column), (r, row, column)) \
    F(int, getisnull, (const PGresult *r, int row, int column), (r, row, column)) \
    F(char *, cmdTuples, (PGresult *r), (r)) \
    F(halyard_pq_notice, setNoticeProcessor, (PGconn *c, halyard_pq_notice f, void *arg), (c, f, arg))

struct halyard_pq_table {
#define HALYARD_PQ_MEMBER(type, name, parameters, arguments) type(*name) parameters;
    HALYARD_PQ_FUNCTIONS(HALYARD_PQ_MEMBER)
#undef HALYARD_PQ_MEMBER
};
extern struct halyard_pq_table halyard_pq_table;

// PQstatus becomes halyard_pq_status, and so on. Only valid after halyard_pq_load has returned NULL.
#define HALYARD_PQ_WRAPPER(type, name, parameters, arguments) \
    static inline type halyard_pq_##name parameters { return halyard_pq_table.name arguments; }
HALYARD_PQ_FUNCTIONS(HALYARD_PQ_WRAPPER)
#undef HALYARD_PQ_WRAPPER

// Loads the library. Returns NULL, or the reason why it cannot be loaded, which stays valid. Any thread may call it.
const char *halyard_pq_load(void);

#endif
