#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { stack_bytes = 64 * 1024, guard_bytes = 64 * 1024, last_signal = 64, signal_set_bytes = 8 };

/// Shared by both processes: the child borrows the parent's memory until it executes its program.
struct launch {
    const struct launcher_plan *plan;
    struct launcher_result *result;
    /// Copies of the sources, above all targets.
    int *copies;
    /// The descriptors that the child needs, sorted.
    int *needed;
    int needed_count;
    pid_t parent;
};

// Everything from here to `child` runs in the child and is async-signal-safe.

_Noreturn static void fail(struct launch *launch, int step, int error, int subject) {
    launch->result->error = error;
    launch->result->subject = subject;
    launch->result->step = step;
    for (;;) syscall(SYS_exit_group, 127);
}

/// Closes the descriptors `first` to `last`, if there are any.
static int close_between(unsigned int first, unsigned int last) {
    return first <= last ? (int)syscall(SYS_close_range, first, last, 0) : 0;
}

/// Errors are ignored: without the adjustment, only the kernel's choice under memory pressure is worse.
static void adjust_oom_score(const char *value) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    size_t length = 0;
    while (value[length] != '\0') length++;
    ssize_t written = write(file, value, length);
    (void)written;
    close(file);
}

/// Gives each descriptor its target number and closes all others. Returns the executable's new number, or -1.
static int place_descriptors(struct launch *launch) {
    const struct launcher_plan *plan = launch->plan;
    // A full table would leave no room for the copies, so the descriptors that are not needed are closed first.
    unsigned int next = 0;
    for (int i = 0; i < launch->needed_count; i++) {
        unsigned int number = (unsigned int)launch->needed[i];
        if (number > next && close_between(next, number - 1) != 0) fail(launch, launcher_step_descriptors, errno, -1);
        next = number + 1;
    }
    if (close_between(next, ~0U) != 0) fail(launch, launcher_step_descriptors, errno, -1);

    // Copies above all targets, because a target may be the source of a later one.
    int count = plan->descriptor_count;
    int lowest = count > 0 ? plan->descriptors[count - 1].target + 1 : 0;
    for (int i = 0; i < count; i++) {
        launch->copies[i] = fcntl(plan->descriptors[i].source, F_DUPFD_CLOEXEC, lowest);
        if (launch->copies[i] < 0) fail(launch, launcher_step_descriptors, errno, plan->descriptors[i].target);
    }
    int executable = -1;
    if (plan->path == NULL) {
        executable = fcntl(plan->executable, F_DUPFD_CLOEXEC, lowest);
        if (executable < 0) fail(launch, launcher_step_execute, errno, -1);
    }
    next = 0;
    for (int i = 0; i < count; i++) {
        unsigned int target = (unsigned int)plan->descriptors[i].target;
        if (dup2(launch->copies[i], (int)target) < 0) fail(launch, launcher_step_descriptors, errno, (int)target);
        if (target > next) close_between(next, target - 1);
        next = target + 1;
    }
    if (executable >= 0) {
        if ((unsigned int)executable > next) close_between(next, (unsigned int)executable - 1);
        next = (unsigned int)executable + 1;
    }
    close_between(next, ~0U);
    return executable;
}

static void set_limits(struct launch *launch) {
    for (int i = 0; i < launch->plan->limit_count; i++) {
        const struct launcher_limit *limit = &launch->plan->limits[i];
        struct rlimit64 present;
        if (syscall(SYS_prlimit64, 0, limit->resource, NULL, &present) != 0)
            fail(launch, launcher_step_limits, errno, limit->resource);
        // A process without privileges cannot raise its hard limit, and a smaller one that is in force is as good.
        struct rlimit64 wanted = {limit->soft, limit->hard};
        if (wanted.rlim_cur > present.rlim_max) wanted.rlim_cur = present.rlim_max;
        if (wanted.rlim_max > present.rlim_max) wanted.rlim_max = present.rlim_max;
        if (syscall(SYS_prlimit64, 0, limit->resource, &wanted, NULL) != 0)
            fail(launch, launcher_step_limits, errno, limit->resource);
    }
}

/// Gives all signals their default action, then unblocks them. The system calls are used directly, since the C library
/// refuses the two signals that it uses itself.
static void reset_signals(void) {
    static const unsigned long default_action[8];
    static const unsigned long no_signals[1];
    for (int number = 1; number <= last_signal; number++)
        if (number != SIGKILL && number != SIGSTOP)
            syscall(SYS_rt_sigaction, number, default_action, NULL, signal_set_bytes);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signals, NULL, signal_set_bytes);
}

static int child(void *argument) {
    struct launch *launch = argument;
    const struct launcher_plan *plan = launch->plan;

    if (setsid() < 0) fail(launch, launcher_step_session, errno, -1);
    if (plan->group >= 0 && write(plan->group, "0", 1) != 1) fail(launch, launcher_step_group, errno, -1);
    if (chdir(plan->folder) != 0) fail(launch, launcher_step_folder, errno, -1);
    umask((mode_t)plan->mask);
    int executable = place_descriptors(launch);
    adjust_oom_score(plan->oom_adjustment);
    set_limits(launch);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(launch, launcher_step_privileges, errno, -1);
    if (prctl(PR_SET_CHILD_SUBREAPER, plan->adopts_orphans, 0, 0, 0) != 0)
        fail(launch, launcher_step_privileges, errno, -1);
    if (plan->ends_with_thread) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fail(launch, launcher_step_privileges, errno, -1);
        // The parent may have died before the call.
        if (getppid() != launch->parent) fail(launch, launcher_step_privileges, ESRCH, -1);
    }
    reset_signals();
    if (plan->path != NULL) {
        execve(plan->path, plan->arguments, plan->environment);
    } else {
        syscall(SYS_execveat, executable, "", plan->arguments, plan->environment, AT_EMPTY_PATH);
        // The interpreter of a script opens it as /dev/fd/N, so the kernel refuses a script that would be closed.
        if (errno == ENOENT && fcntl(executable, F_SETFD, 0) == 0)
            syscall(SYS_execveat, executable, "", plan->arguments, plan->environment, AT_EMPTY_PATH);
    }
    fail(launch, launcher_step_execute, errno, -1);
}

static int by_number(const void *left, const void *right) {
    return *(const int *)left - *(const int *)right;
}

/// The memory that the child needs, allocated before it starts. Returns false if there is none.
static int prepare(struct launch *launch) {
    const struct launcher_plan *plan = launch->plan;
    size_t count = (size_t)plan->descriptor_count + 1;
    launch->copies = calloc(count, sizeof *launch->copies);
    launch->needed = calloc(count, sizeof *launch->needed);
    if (launch->copies == NULL || launch->needed == NULL) return 0;
    for (int i = 0; i < plan->descriptor_count; i++)
        if (plan->descriptors[i].source >= 0) launch->needed[launch->needed_count++] = plan->descriptors[i].source;
    if (plan->path == NULL && plan->executable >= 0) launch->needed[launch->needed_count++] = plan->executable;
    qsort(launch->needed, (size_t)launch->needed_count, sizeof *launch->needed, by_number);
    return 1;
}

static void run(struct launch *launch) {
    struct launcher_result *result = launch->result;
    char *stack = mmap(
        NULL, guard_bytes + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack + guard_bytes, stack_bytes, PROT_READ | PROT_WRITE) != 0) {
        result->step = launcher_step_memory;
        result->error = errno;
        if (stack != MAP_FAILED) munmap(stack, guard_bytes + stack_bytes);
        return;
    }
    // The child shares this memory, so it must neither run a handler of this process nor act on a cancellation.
    int cancellation;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    unsigned long every_signal[1] = {~0UL}, previous[1];
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, every_signal, previous, signal_set_bytes);
    // CLONE_VFORK: this thread sleeps until the child executes its program or exits, so nothing copies the memory.
    int pidfd = -1;
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
    pid_t pid = clone(child, stack + guard_bytes + stack_bytes, flags, launch, &pidfd);
    int error = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, previous, NULL, signal_set_bytes);
    pthread_setcancelstate(cancellation, NULL);
    munmap(stack, guard_bytes + stack_bytes);
    if (pid < 0) {
        result->step = launcher_step_clone;
        result->error = error;
    } else if (result->step != launcher_step_none) {
        while (syscall(SYS_waitid, P_PIDFD, pidfd, NULL, WEXITED, NULL) != 0 && errno == EINTR) {}
        close(pidfd);
    } else {
        result->pid = pid;
        result->pidfd = pidfd;
    }
}

void launcher_start(const struct launcher_plan *plan, struct launcher_result *result) {
    *result = (struct launcher_result){.pid = -1, .pidfd = -1, .subject = -1};
    struct launch launch = {.plan = plan, .result = result, .parent = getpid()};
    if (prepare(&launch)) {
        run(&launch);
    } else {
        result->step = launcher_step_memory;
        result->error = ENOMEM;
    }
    free(launch.copies);
    free(launch.needed);
}

int launcher_has_ended(int pidfd) {
    siginfo_t info = {.si_pid = 0};
    if (syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | WNOHANG | WNOWAIT, NULL) != 0)
        return errno == EINTR ? 0 : -errno;
    return info.si_pid != 0;
}

int launcher_reap(int pidfd, struct launcher_end *end) {
    siginfo_t info = {.si_pid = 0};
    // The C library's function lacks the usage.
    if (syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | WNOHANG, &end->usage) != 0)
        return errno == EINTR ? 0 : -errno;
    if (info.si_pid == 0) return 0;
    end->code = info.si_code;
    end->status = info.si_status;
    return 1;
}

int launcher_signal(int pidfd, int number) { return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0); }

int launcher_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int launcher_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

int launcher_facts(pid_t pid, struct launcher_facts *facts) {
    char path[32], line[1024], state;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    if (length <= 0) return -1;
    line[length] = '\0';
    // The name is in parentheses and may contain any character, even a parenthesis.
    char *rest = strrchr(line, ')');
    int parent, threads;
    const char *format = ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d";
    if (rest == NULL || sscanf(rest, format, &state, &parent, &threads) != 3) return -1;
    // A process whose first thread has ended is a zombie to its parent, but its other threads still run.
    *facts = (struct launcher_facts){
        .parent = parent, .is_dead = (state == 'Z' || state == 'X') && threads <= 1, .is_stopped = state == 'T'};
    return 0;
}
