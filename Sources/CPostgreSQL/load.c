#include "CPostgreSQL.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

struct halyard_pq_table halyard_pq_table;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[512];
static int failed;

static void load(void) {
    // Never closed: threads of the library's dependencies may use it until the process ends.
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        failed = 1;
        snprintf(problem, sizeof problem, "%s", dlerror());
        return;
    }
#define LOAD(type, function, parameters, arguments) \
    if (!failed) { \
        halyard_pq_table.function = (type(*) parameters)dlsym(library, "PQ" #function); \
        if (halyard_pq_table.function == NULL) { \
            failed = 1; \
            snprintf(problem, sizeof problem, "libpq.so.5 has no function PQ" #function); \
        } \
    }
    HALYARD_PQ_FUNCTIONS(LOAD)
#undef LOAD
}

const char *halyard_pq_load(void) {
    pthread_once(&once, load);
    return failed ? problem : NULL;
}
