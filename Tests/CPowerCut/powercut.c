#include "CPowerCut.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

// A VFS over the usual one. Only one thread may write at a time, as is so with one connection.

typedef struct {
    sqlite3_file base;
    sqlite3_io_methods methods;
    unsigned char number;
    // The real file follows.
} Watched;

static sqlite3_vfs *real;
static sqlite3_vfs watching;
static FILE *record_file;
static char paths[64][512];
static int path_count;

static sqlite3_file *real_file(sqlite3_file *file) { return (sqlite3_file *)((Watched *)file + 1); }

static void record(char kind, unsigned char file, int64_t offset, const void *bytes, int32_t count) {
    fputc(kind, record_file);
    fputc(file, record_file);
    fwrite(&offset, 8, 1, record_file);
    fwrite(&count, 4, 1, record_file);
    if (count > 0) fwrite(bytes, (size_t)count, 1, record_file);
    fflush(record_file);
}

static int number_of(const char *path) {
    for (int i = 0; i < path_count; i++)
        if (strcmp(paths[i], path) == 0) return i;
    if (path_count == 64) return -1;
    snprintf(paths[path_count], sizeof paths[0], "%s", path);
    record('o', (unsigned char)path_count, 0, path, (int32_t)strlen(path));
    return path_count++;
}

static int watch_close(sqlite3_file *f) { return real_file(f)->pMethods->xClose(real_file(f)); }
static int watch_read(sqlite3_file *f, void *b, int n, sqlite3_int64 o) {
    return real_file(f)->pMethods->xRead(real_file(f), b, n, o);
}
static int watch_write(sqlite3_file *f, const void *b, int n, sqlite3_int64 o) {
    record('w', ((Watched *)f)->number, o, b, n);
    return real_file(f)->pMethods->xWrite(real_file(f), b, n, o);
}
static int watch_truncate(sqlite3_file *f, sqlite3_int64 size) {
    record('t', ((Watched *)f)->number, size, 0, 0);
    return real_file(f)->pMethods->xTruncate(real_file(f), size);
}
static int watch_sync(sqlite3_file *f, int flags) {
    int code = real_file(f)->pMethods->xSync(real_file(f), flags);
    if (code == SQLITE_OK) record('s', ((Watched *)f)->number, 0, 0, 0);
    return code;
}
static int watch_size(sqlite3_file *f, sqlite3_int64 *size) {
    return real_file(f)->pMethods->xFileSize(real_file(f), size);
}
static int watch_lock(sqlite3_file *f, int l) { return real_file(f)->pMethods->xLock(real_file(f), l); }
static int watch_unlock(sqlite3_file *f, int l) { return real_file(f)->pMethods->xUnlock(real_file(f), l); }
static int watch_reserved(sqlite3_file *f, int *r) {
    return real_file(f)->pMethods->xCheckReservedLock(real_file(f), r);
}
static int watch_control(sqlite3_file *f, int op, void *a) {
    return real_file(f)->pMethods->xFileControl(real_file(f), op, a);
}
static int watch_sector(sqlite3_file *f) { return real_file(f)->pMethods->xSectorSize(real_file(f)); }
static int watch_device(sqlite3_file *f) { return real_file(f)->pMethods->xDeviceCharacteristics(real_file(f)); }
static int watch_shm_map(sqlite3_file *f, int p, int n, int e, void volatile **m) {
    return real_file(f)->pMethods->xShmMap(real_file(f), p, n, e, m);
}
static int watch_shm_lock(sqlite3_file *f, int o, int n, int flags) {
    return real_file(f)->pMethods->xShmLock(real_file(f), o, n, flags);
}
static void watch_shm_barrier(sqlite3_file *f) { real_file(f)->pMethods->xShmBarrier(real_file(f)); }
static int watch_shm_unmap(sqlite3_file *f, int d) { return real_file(f)->pMethods->xShmUnmap(real_file(f), d); }

static int watch_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out) {
    (void)vfs;
    Watched *watched = (Watched *)file;
    memset(watched, 0, sizeof *watched);
    int code = real->xOpen(real, path, real_file(file), flags, out);
    if (code != SQLITE_OK) return code;
    int number = path ? number_of(path) : -1;
    if (number < 0) {
        real_file(file)->pMethods->xClose(real_file(file));
        return SQLITE_CANTOPEN;
    }
    watched->number = (unsigned char)number;
    watched->methods = (sqlite3_io_methods){
        .iVersion = 2,
        .xClose = watch_close, .xRead = watch_read, .xWrite = watch_write, .xTruncate = watch_truncate,
        .xSync = watch_sync, .xFileSize = watch_size, .xLock = watch_lock, .xUnlock = watch_unlock,
        .xCheckReservedLock = watch_reserved, .xFileControl = watch_control, .xSectorSize = watch_sector,
        .xDeviceCharacteristics = watch_device, .xShmMap = watch_shm_map, .xShmLock = watch_shm_lock,
        .xShmBarrier = watch_shm_barrier, .xShmUnmap = watch_shm_unmap,
    };
    watched->base.pMethods = &watched->methods;
    return SQLITE_OK;
}

static int watch_delete(sqlite3_vfs *vfs, const char *path, int sync_directory) {
    (void)vfs;
    int number = number_of(path);
    if (number >= 0) record('d', (unsigned char)number, 0, 0, 0);
    return real->xDelete(real, path, sync_directory);
}

int halyard_powercut_record(const char *log) {
    record_file = fopen(log, "wb");
    if (!record_file) return SQLITE_CANTOPEN;
    int code = sqlite3_initialize();
    if (code != SQLITE_OK) return code;
    real = sqlite3_vfs_find(0);
    watching = *real;
    watching.zName = "powercut";
    watching.pNext = 0;
    watching.szOsFile = (int)sizeof(Watched) + real->szOsFile;
    watching.xOpen = watch_open;
    watching.xDelete = watch_delete;
    return sqlite3_vfs_register(&watching, 1);
}

void halyard_powercut_acknowledge(int64_t number) { record('a', 0, number, 0, 0); }
