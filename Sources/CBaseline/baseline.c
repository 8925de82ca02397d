#include "CBaseline.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAYLOAD_BYTES 210
#define RESULT_BYTES 204

typedef struct {
    sqlite3 *db;
    sqlite3_stmt *begin, *commit;
    sqlite3_stmt *insert_job, *insert_input;
    sqlite3_stmt *ready, *start, *input;
    sqlite3_stmt *end, *result;
    sqlite3_int64 next_job;
    char payload[PAYLOAD_BYTES], value[RESULT_BYTES];
} Loop;

static sqlite3_int64 now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (sqlite3_int64)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int prepare(Loop *loop, sqlite3_stmt **statement, const char *sql) {
    return sqlite3_prepare_v3(loop->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, 0);
}

static int run(sqlite3_stmt *statement) {
    int code = sqlite3_step(statement);
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    int reset = sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : reset;
}

static sqlite3_int64 integer(Loop *loop, const char *sql) {
    sqlite3_stmt *statement = 0;
    sqlite3_int64 value = 0;
    if (prepare(loop, &statement, sql) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

// A commit that grows the WAL costs more than one that overwrites it. So grow it once, as the store does.
static void grow_wal(Loop *loop, sqlite3_int64 bytes) {
    sqlite3_file *file = 0;
    sqlite3_int64 size = 0;
    if (sqlite3_file_control(loop->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK) return;
    if (!file || !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK) return;
    char *zeros = calloc(1, 1 << 16);
    for (; size < bytes; size += 1 << 16)
        if (file->pMethods->xWrite(file, zeros, 1 << 16, size) != SQLITE_OK) break;
    free(zeros);
    file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

// The bare minimum for a queue of jobs: no constraints, no foreign keys, no counts, and only the index that a claim
// needs. Its speed is an upper limit for a store; it does not do the same work.
static const char *const schema =
    "CREATE TABLE job (id INTEGER PRIMARY KEY, state INTEGER, queue_id INTEGER, priority INTEGER, attempt INTEGER,"
    " enqueued_ms INTEGER, started_ms INTEGER, finished_ms INTEGER);"
    "CREATE TABLE input (job_id INTEGER PRIMARY KEY, input TEXT);"
    "CREATE TABLE result (job_id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE INDEX job_ready ON job (queue_id, priority, id) WHERE state = 0;";

static int open_loop(Loop *loop, const char *path) {
    memset(loop, 0, sizeof *loop);
    memset(loop->payload, 'p', sizeof loop->payload);
    loop->payload[0] = loop->payload[sizeof loop->payload - 1] = '"';
    memset(loop->value, 'v', sizeof loop->value);
    loop->value[0] = loop->value[sizeof loop->value - 1] = '"';
    int code = sqlite3_open_v2(path, &loop->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0);
    if (code != SQLITE_OK) return code;
    code = sqlite3_exec(
        loop->db,
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY;"
        "PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 1000;",
        0, 0, 0);
    if (code == SQLITE_OK) code = sqlite3_exec(loop->db, schema, 0, 0, 0);
    if (code != SQLITE_OK) return code;
    if (integer(loop, "PRAGMA synchronous") != 2) return SQLITE_MISUSE;
    loop->next_job = 1;
    struct { sqlite3_stmt **statement; const char *sql; } statements[] = {
        {&loop->begin, "BEGIN IMMEDIATE"},
        {&loop->commit, "COMMIT"},
        {&loop->insert_job,
         "INSERT INTO job (id, state, queue_id, priority, attempt, enqueued_ms) VALUES (?1, 0, 1, 0, 0, ?2)"},
        {&loop->insert_input, "INSERT INTO input (job_id, input) VALUES (?1, ?2)"},
        {&loop->ready, "SELECT id, attempt FROM job WHERE state = 0 AND queue_id = 1 AND priority = 0 ORDER BY id LIMIT ?1"},
        {&loop->start, "UPDATE job SET state = 1, attempt = attempt + 1, started_ms = ?2 WHERE id = ?1 AND state = 0"},
        {&loop->input, "SELECT input FROM input WHERE job_id = ?1"},
        {&loop->end, "UPDATE job SET state = 2, finished_ms = ?3 WHERE id = ?1 AND state = 1 AND attempt = ?2"},
        {&loop->result, "INSERT INTO result (job_id, value) VALUES (?1, ?2)"},
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        code = prepare(loop, statements[i].statement, statements[i].sql);
        if (code != SQLITE_OK) return code;
    }
    grow_wal(loop, 8 << 20);
    return SQLITE_OK;
}

static void close_loop(Loop *loop) {
    sqlite3_stmt *statement;
    while (loop->db && (statement = sqlite3_next_stmt(loop->db, 0))) sqlite3_finalize(statement);
    sqlite3_close(loop->db);
}

static int enqueue(Loop *loop, int count) {
    int code = run(loop->begin);
    sqlite3_int64 now = now_ms();
    for (int i = 0; i < count && code == SQLITE_OK; i++) {
        sqlite3_int64 job = loop->next_job++;
        sqlite3_bind_int64(loop->insert_job, 1, job);
        sqlite3_bind_int64(loop->insert_job, 2, now);
        code = run(loop->insert_job);
        if (code != SQLITE_OK) break;
        sqlite3_bind_int64(loop->insert_input, 1, job);
        sqlite3_bind_text(loop->insert_input, 2, loop->payload, PAYLOAD_BYTES, SQLITE_STATIC);
        code = run(loop->insert_input);
    }
    return code == SQLITE_OK ? run(loop->commit) : code;
}

typedef struct {
    sqlite3_int64 job;
    int attempt;
} Running;

// Ends `ended` jobs and claims up to `wanted`, in one transaction. Returns the number of claimed jobs, or a negative
// result code.
static int exchange(Loop *loop, Running *running, int ended, int wanted) {
    char copy[PAYLOAD_BYTES];
    int code = run(loop->begin);
    sqlite3_int64 now = now_ms();
    for (int i = 0; i < ended && code == SQLITE_OK; i++) {
        sqlite3_bind_int64(loop->end, 1, running[i].job);
        sqlite3_bind_int(loop->end, 2, running[i].attempt);
        sqlite3_bind_int64(loop->end, 3, now);
        code = run(loop->end);
        if (code == SQLITE_OK && sqlite3_changes(loop->db) != 1) code = SQLITE_MISUSE;
        if (code != SQLITE_OK) break;
        sqlite3_bind_int64(loop->result, 1, running[i].job);
        sqlite3_bind_text(loop->result, 2, loop->value, RESULT_BYTES, SQLITE_STATIC);
        code = run(loop->result);
    }
    int claimed = 0;
    sqlite3_bind_int(loop->ready, 1, wanted);
    while (code == SQLITE_OK && sqlite3_step(loop->ready) == SQLITE_ROW) {
        running[claimed].job = sqlite3_column_int64(loop->ready, 0);
        running[claimed++].attempt = sqlite3_column_int(loop->ready, 1) + 1;
    }
    sqlite3_reset(loop->ready);
    for (int i = 0; i < claimed && code == SQLITE_OK; i++) {
        sqlite3_bind_int64(loop->start, 1, running[i].job);
        sqlite3_bind_int64(loop->start, 2, now);
        if ((code = run(loop->start)) != SQLITE_OK) break;
        sqlite3_bind_int64(loop->input, 1, running[i].job);
        if (sqlite3_step(loop->input) == SQLITE_ROW)
            memcpy(copy, sqlite3_column_text(loop->input, 0), (size_t)sqlite3_column_bytes(loop->input, 0));
        sqlite3_reset(loop->input);
    }
    if (code == SQLITE_OK) code = run(loop->commit);
    return code == SQLITE_OK ? claimed : -code;
}

double halyard_baseline_run(const char *path, int jobs, int batch) {
    Loop loop;
    int code = open_loop(&loop, path);
    Running *running = calloc((size_t)batch, sizeof *running);
    double start = seconds();
    int done = 0, open = 0;
    while (code == SQLITE_OK && done < jobs) {
        int count = jobs - done < batch ? jobs - done : batch;
        code = enqueue(&loop, count);
        if (code != SQLITE_OK) break;
        int claimed = exchange(&loop, running, open, count);
        if (claimed < 0) code = -claimed;
        open = claimed;
        done += count;
    }
    if (code == SQLITE_OK && open > 0) {
        int left = exchange(&loop, running, open, 0);
        if (left < 0) code = -left;
    }
    double elapsed = seconds() - start;
    free(running);
    close_loop(&loop);
    return code == SQLITE_OK ? jobs / elapsed : -code;
}
