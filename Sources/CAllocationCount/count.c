// glibc exports its own functions under these names too, so that a program can replace the usual ones.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "CAllocationCount.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

// Many counters, each on its own cache line, so that threads do not slow each other down.
#define SHARDS 64
static struct {
    _Alignas(64) atomic_ulong count;
} shards[SHARDS];
static atomic_uint threads;
static _Thread_local unsigned shard __attribute__((tls_model("initial-exec")));

static void one(void) {
    if (shard == 0) shard = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&shards[shard % SHARDS].count, 1, memory_order_relaxed);
}

unsigned long allocation_count(void) {
    unsigned long sum = 0;
    for (int index = 0; index < SHARDS; index++) {
        sum += atomic_load_explicit(&shards[index].count, memory_order_relaxed);
    }
    return sum;
}

void *malloc(size_t size) {
    one();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    one();
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    one();
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    one();
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *block = memory;
    return 0;
}
