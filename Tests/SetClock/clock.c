// Gives one program a wall clock of its own. It is preloaded (LD_PRELOAD). The file named by HALYARD_CLOCK contains eight
// bytes: the difference to the machine's clock in nanoseconds. Writing them sets the clock: timers of the wall clock ring
// at the new time, and those with TFD_TIMER_CANCEL_ON_SET report ECANCELED as in timerfd_create(2), armed or not.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MOST 4096

struct timer {
    _Atomic int is_wall;
    int wants_cancel, is_cancelled, is_armed;
    struct itimerspec value;
};
static struct timer timers[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int64_t none;
static _Atomic int64_t *offset = &none;
static int watch = -1;

static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);
static int (*real_create)(int, int);
static int (*real_settime)(int, int, const struct itimerspec *, struct itimerspec *);
static ssize_t (*real_read)(int, void *, size_t);
static int (*real_close)(int);

static void find(void) {
    if (real_gettime) return;
    real_gettimeofday = dlsym(RTLD_NEXT, "gettimeofday");
    real_create = dlsym(RTLD_NEXT, "timerfd_create");
    real_settime = dlsym(RTLD_NEXT, "timerfd_settime");
    real_read = dlsym(RTLD_NEXT, "read");
    real_close = dlsym(RTLD_NEXT, "close");
    real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
}

__attribute__((constructor)) static void start(void) {
    find();
    const char *path = getenv("HALYARD_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *shared = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    real_close(file);
    if (shared != MAP_FAILED) offset = shared;
}

static struct timespec moved(struct timespec time, int64_t by) {
    int64_t all = time.tv_sec * INT64_C(1000000000) + time.tv_nsec + by;
    if (all < 1) all = 1;
    return (struct timespec){.tv_sec = all / 1000000000, .tv_nsec = all % 1000000000};
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    find();
    int result = real_gettime(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) *time = moved(*time, *offset);
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    find();
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}

// The caller holds the lock.
static int arm(int descriptor, struct itimerspec *old) {
    struct itimerspec value = timers[descriptor].value;
    if (value.it_value.tv_sec || value.it_value.tv_nsec) value.it_value = moved(value.it_value, -*offset);
    return real_settime(descriptor, TFD_TIMER_ABSTIME, &value, old);
}

// Sleeps until a test sets the clock.
static void *watch_clock(void *unused) {
    char event[4096];
    while (real_read(watch, event, sizeof event) > 0) {
        pthread_mutex_lock(&lock);
        for (int descriptor = 0; descriptor < MOST; descriptor++) {
            struct timer *timer = &timers[descriptor];
            if (!timer->is_wall) continue;
            if (timer->wants_cancel) {
                timer->is_cancelled = 1;
                struct itimerspec now = {.it_value = {.tv_nsec = 1}};
                real_settime(descriptor, 0, &now, NULL);
            } else if (timer->is_armed) {
                arm(descriptor, NULL);
            }
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int timerfd_create(int clock, int flags) {
    find();
    int descriptor = real_create(clock, flags);
    if (descriptor < 0 || descriptor >= MOST || clock != CLOCK_REALTIME) return descriptor;
    pthread_mutex_lock(&lock);
    timers[descriptor] = (struct timer){.is_wall = 1};
    const char *path = getenv("HALYARD_CLOCK");
    if (watch < 0 && path) {
        watch = inotify_init1(IN_CLOEXEC);
        inotify_add_watch(watch, path, IN_MODIFY);
        pthread_t thread;
        pthread_create(&thread, NULL, watch_clock, NULL);
    }
    pthread_mutex_unlock(&lock);
    return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *value, struct itimerspec *old) {
    find();
    if (descriptor < 0 || descriptor >= MOST || !timers[descriptor].is_wall || !(flags & TFD_TIMER_ABSTIME))
        return real_settime(descriptor, flags, value, old);
    pthread_mutex_lock(&lock);
    struct timer *timer = &timers[descriptor];
    timer->value = *value;
    timer->is_armed = value->it_value.tv_sec || value->it_value.tv_nsec;
    timer->wants_cancel = (flags & TFD_TIMER_CANCEL_ON_SET) != 0;
    int result = arm(descriptor, old);
    if (result == 0 && timer->is_cancelled) {
        errno = ECANCELED;
        result = -1;
    }
    timer->is_cancelled = 0;
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t read(int descriptor, void *buffer, size_t size) {
    find();
    if (descriptor >= 0 && descriptor < MOST && timers[descriptor].is_wall) {
        pthread_mutex_lock(&lock);
        int is_cancelled = timers[descriptor].is_cancelled;
        timers[descriptor].is_cancelled = 0;
        pthread_mutex_unlock(&lock);
        if (is_cancelled) {
            real_read(descriptor, buffer, size);
            errno = ECANCELED;
            return -1;
        }
    }
    return real_read(descriptor, buffer, size);
}

int close(int descriptor) {
    find();
    if (descriptor >= 0 && descriptor < MOST) timers[descriptor].is_wall = 0;
    return real_close(descriptor);
}
