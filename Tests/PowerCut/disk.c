// Simulates a disk and a page cache for one database. It is preloaded (LD_PRELOAD) into a program that uses the
// database.
//
// The files contain what the page cache holds; separate files contain what the disk holds. A sync copies the pages that
// were
// written since the last one. A failed sync behaves as on Linux: the pages count as written and keep their contents in
// memory, but the disk is unchanged. A page whose first write failed reads as zeros from the disk until it has left
// memory,
// even if it is written and synced again (ext4: its extent stays unwritten). When pages are dropped from memory
// (POSIX_FADV_DONTNEED) or evicted, reads return the disk's contents again.
//
// Everything is recorded in order, so that tests can rebuild the disks that a power cut could leave. A record is: kind
// (1
// byte), file (1), offset (8), length (4), then `length` bytes, all little-endian:
//   w write            the bytes at the offset
//   t truncated        to the offset
//   s synced
//   f sync failed      the numbers (4 bytes) of the pages that reached the disk nevertheless
//   e evicted          the numbers of the pages that left memory; empty: all that were not dirty
//   l linked           one byte: the file that has the new name
//   u removed
//   a acknowledged     by the program under test; the offset is a number that the program chooses
//
// HALYARD_DISK            the directory of the disk and of the record, "log"
// HALYARD_DISK_DATABASE   the database's path
// HALYARD_DISK_FAILS      the syncs of this process that fail: "3,7"
// HALYARD_DISK_FAILED_READ  the read of this process that fails, "5"; "5+": and all later ones
// HALYARD_DISK_KEEPS      the files that DONTNEED only seems to drop: "0" the database, "1" the log
// HALYARD_DISK_IGNORES    the files whose syncs do nothing
// HALYARD_DISK_SEED       selects which pages a failed sync writes nevertheless, and which are evicted; 0 for none

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { page = 4096, max_pages = 8192, max_files = 5, max_descriptors = 4096 };
enum { dirty = 1, unwritten = 2, allocated = 4 };

static const char *const suffixes[max_files] = {"", "-wal", "-journal", "-new", "-new-journal"};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char database[512], fails[256], keeps[8], ignores[8];
static uint64_t seed;
static int record_descriptor = -1, sync_count, read_count, failed_read, reads_stay_broken;
// The file's number plus one; 0 for descriptors that are not watched.
static unsigned char watched[max_descriptors];
// These are mapped files, since the page cache outlives the process.
static unsigned char *pages[max_files];
static int disks[max_files];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("HALYARD_DISK"), *path = getenv("HALYARD_DISK_DATABASE");
    if (!directory || !path) return;
    char name[600];
    snprintf(name, sizeof name, "%s/log", directory);
    record_descriptor = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (int i = 0; i < max_files; i++) {
        snprintf(name, sizeof name, "%s/%d.pages", directory, i);
        int descriptor = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (descriptor < 0 || syscall(SYS_ftruncate, descriptor, (long)max_pages) != 0) abort();
        pages[i] = mmap(0, max_pages, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        syscall(SYS_close, descriptor);
        snprintf(name, sizeof name, "%s/%d.disk", directory, i);
        disks[i] = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (pages[i] == MAP_FAILED || disks[i] < 0 || record_descriptor < 0) abort();
    }
    if (getenv("HALYARD_DISK_FAILS")) snprintf(fails, sizeof fails, ",%s,", getenv("HALYARD_DISK_FAILS"));
    if (getenv("HALYARD_DISK_FAILED_READ")) {
        failed_read = atoi(getenv("HALYARD_DISK_FAILED_READ"));
        reads_stay_broken = strchr(getenv("HALYARD_DISK_FAILED_READ"), '+') != 0;
    }
    if (getenv("HALYARD_DISK_KEEPS")) snprintf(keeps, sizeof keeps, "%s", getenv("HALYARD_DISK_KEEPS"));
    if (getenv("HALYARD_DISK_IGNORES")) snprintf(ignores, sizeof ignores, "%s", getenv("HALYARD_DISK_IGNORES"));
    if (getenv("HALYARD_DISK_SEED")) seed = strtoull(getenv("HALYARD_DISK_SEED"), 0, 10);
    snprintf(database, sizeof database, "%s", path);
}

static uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static void record(char kind, int file, int64_t offset, const void *bytes, int32_t count) {
    char head[14] = {kind, (char)file};
    memcpy(head + 2, &offset, 8);
    memcpy(head + 10, &count, 4);
    struct iovec parts[2] = {{head, sizeof head}, {(void *)bytes, (size_t)count}};
    if (syscall(SYS_writev, record_descriptor, parts, 2) != (long)sizeof head + count) abort();
}

static int file_named(const char *path) {
    size_t length = strlen(database);
    if (!length || !path || strncmp(path, database, length) != 0) return -1;
    for (int i = 0; i < max_files; i++)
        if (strcmp(path + length, suffixes[i]) == 0) return i;
    return -1;
}

static int file_of(int descriptor) {
    return descriptor >= 0 && descriptor < max_descriptors ? watched[descriptor] - 1 : -1;
}

static int page_count(int descriptor) {
    struct stat facts;
    if (syscall(SYS_fstat, descriptor, &facts) != 0) return 0;
    int count = (int)((facts.st_size + page - 1) / page);
    if (count > max_pages) abort();
    return count;
}

static void copy_page(int from, int to, int number, int into_file) {
    static char bytes[page];
    memset(bytes, 0, page);
    syscall(SYS_pread64, from, bytes, (long)page, (long)number * page);
    long count = page;
    if (into_file) {
        struct stat facts;
        syscall(SYS_fstat, to, &facts);
        if (facts.st_size - (long)number * page < page) count = facts.st_size - (long)number * page;
    }
    if (count > 0) syscall(SYS_pwrite64, to, bytes, count, (long)number * page);
}

static void evict(int file, int descriptor, int number) {
    copy_page(disks[file], descriptor, number, 1);
    pages[file][number] &= (unsigned char)~unwritten;
}

// MARK: Functions that the program calls

static int remember(int descriptor, const char *path) {
    int file = file_named(path);
    if (descriptor >= 0 && descriptor < max_descriptors) watched[descriptor] = (unsigned char)(file + 1);
    return descriptor;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return remember((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode), path); \
    }
OPEN(open)
OPEN(open64)

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < max_descriptors) watched[descriptor] = 0;
    return REAL(close)(descriptor);
}

static ssize_t write_at(int descriptor, const void *bytes, size_t count, int64_t offset) {
    int file = file_of(descriptor);
    if (file < 0) return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    pthread_mutex_lock(&mutex);
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    if (written > 0) {
        for (int64_t i = offset / page; i <= (offset + written - 1) / page; i++) pages[file][i] |= dirty;
        record('w', file, offset, bytes, (int32_t)written);
    }
    pthread_mutex_unlock(&mutex);
    return written;
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return write_at(descriptor, bytes, count, offset);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return write_at(descriptor, bytes, count, offset);
}

static ssize_t read_at(int descriptor, void *bytes, size_t count, int64_t offset) {
    if (failed_read && file_of(descriptor) >= 0) {
        int number = __atomic_add_fetch(&read_count, 1, __ATOMIC_SEQ_CST);
        if (number == failed_read || (reads_stay_broken && number > failed_read)) {
            errno = EIO;
            return -1;
        }
    }
    return syscall(SYS_pread64, descriptor, bytes, count, offset);
}
ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    return read_at(descriptor, bytes, count, offset);
}
ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
    return read_at(descriptor, bytes, count, offset);
}

static int truncate_to(int descriptor, int64_t size) {
    int file = file_of(descriptor);
    if (file < 0) return (int)syscall(SYS_ftruncate, descriptor, size);
    pthread_mutex_lock(&mutex);
    int code = (int)syscall(SYS_ftruncate, descriptor, size);
    if (code == 0) {
        for (int64_t i = (size + page - 1) / page; i < max_pages; i++) pages[file][i] = 0;
        syscall(SYS_ftruncate, disks[file], size);
        record('t', file, size, 0, 0);
    }
    pthread_mutex_unlock(&mutex);
    return code;
}
int ftruncate(int descriptor, off_t size) { return truncate_to(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return truncate_to(descriptor, size); }

static int sync_file(int descriptor) {
    int file = file_of(descriptor), code = 0, reached_count = 0, evicted_count = 0;
    static int32_t reached[max_pages], evicted[max_pages];
    if (strchr(ignores, '0' + file)) return 0;
    pthread_mutex_lock(&mutex);
    char number[16];
    snprintf(number, sizeof number, ",%d,", ++sync_count);
    int is_failing = strstr(fails, number) != 0, count = page_count(descriptor);
    for (int i = 0; i < count; i++) {
        unsigned char *state = &pages[file][i];
        if (!(*state & dirty)) continue;
        *state &= (unsigned char)~dirty;
        if (is_failing && !(seed && draw() % 4 == 0)) {
            if (!(*state & allocated)) *state |= unwritten;
            continue;
        }
        if (is_failing) reached[reached_count++] = i;
        if (*state & unwritten) continue;
        *state |= allocated;
        copy_page(descriptor, disks[file], i, 0);
    }
    struct stat facts;
    syscall(SYS_fstat, descriptor, &facts);
    syscall(SYS_ftruncate, disks[file], facts.st_size);
    if (is_failing) {
        record('f', file, 0, reached, reached_count * 4);
        code = EIO;
    } else {
        record('s', file, 0, 0, 0);
    }
    if (seed && draw() % 8 == 0)
        for (int i = 0; i < count; i++)
            if (!(pages[file][i] & dirty) && draw() % 4 == 0) {
                evict(file, descriptor, i);
                evicted[evicted_count++] = i;
            }
    if (evicted_count) record('e', file, 0, evicted, evicted_count * 4);
    pthread_mutex_unlock(&mutex);
    errno = code;
    return code ? -1 : 0;
}
int fdatasync(int descriptor) {
    return file_of(descriptor) < 0 ? REAL(fdatasync)(descriptor) : sync_file(descriptor);
}
int fsync(int descriptor) { return file_of(descriptor) < 0 ? REAL(fsync)(descriptor) : sync_file(descriptor); }

static int advise(int descriptor, int advice) {
    int file = file_of(descriptor);
    if (file < 0 || advice != POSIX_FADV_DONTNEED || strchr(keeps, '0' + file)) return 0;
    pthread_mutex_lock(&mutex);
    int count = page_count(descriptor);
    for (int i = 0; i < count; i++)
        if (!(pages[file][i] & dirty)) evict(file, descriptor, i);
    record('e', file, 0, 0, 0);
    pthread_mutex_unlock(&mutex);
    return 0;
}
int posix_fadvise(int descriptor, off_t offset, off_t length, int advice) {
    (void)offset;
    (void)length;
    return advise(descriptor, advice);
}
int posix_fadvise64(int descriptor, off64_t offset, off64_t length, int advice) {
    (void)offset;
    (void)length;
    return advise(descriptor, advice);
}

int mincore(void *start, size_t length, unsigned char *residency) {
    (void)start;
    memset(residency, 0, (length + page - 1) / page);
    return 0;
}

// Pretends that the files are not in memory, since the store would skip its checks there.
int fstatfs(int descriptor, struct statfs *facts) {
    int code = REAL(fstatfs)(descriptor, facts);
    if (file_of(descriptor) >= 0) facts->f_type = EXT4_SUPER_MAGIC;
    return code;
}

int link(const char *old, const char *new) {
    int from = file_named(old), to = file_named(new), code = REAL(link)(old, new);
    if (code != 0 || from < 0 || to < 0) return code;
    pthread_mutex_lock(&mutex);
    memcpy(pages[to], pages[from], max_pages);
    for (int i = 0; i < max_pages && pages[from][i]; i++) copy_page(disks[from], disks[to], i, 0);
    struct stat facts;
    syscall(SYS_fstat, disks[from], &facts);
    syscall(SYS_ftruncate, disks[to], facts.st_size);
    char file = (char)to;
    record('l', from, 0, &file, 1);
    pthread_mutex_unlock(&mutex);
    return code;
}

int unlink(const char *path) {
    int file = file_named(path), code = REAL(unlink)(path);
    if (code != 0 || file < 0) return code;
    pthread_mutex_lock(&mutex);
    memset(pages[file], 0, max_pages);
    syscall(SYS_ftruncate, disks[file], 0L);
    record('u', file, 0, 0, 0);
    pthread_mutex_unlock(&mutex);
    return code;
}
