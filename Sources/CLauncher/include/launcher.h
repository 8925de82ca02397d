#ifndef C_LAUNCHER_H
#define C_LAUNCHER_H

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/xattr.h>

/// The steps of a launch, in the order in which they run.
enum {
    launcher_step_none,
    launcher_step_memory,
    launcher_step_clone,
    launcher_step_session,
    launcher_step_group,
    launcher_step_folder,
    launcher_step_descriptors,
    launcher_step_limits,
    launcher_step_privileges,
    launcher_step_execute,
};

struct launcher_descriptor {
    int target;
    /// An open descriptor of this process.
    int source;
};

struct launcher_limit {
    /// One of RLIMIT_….
    int resource;
    uint64_t soft;
    uint64_t hard;
};

struct launcher_plan {
    /// An absolute path, or NULL to execute the descriptor.
    const char *path;
    int executable;
    char *const *arguments;
    char *const *environment;
    const char *folder;
    /// Sorted by target; no target occurs twice.
    const struct launcher_descriptor *descriptors;
    int descriptor_count;
    const struct launcher_limit *limits;
    int limit_count;
    /// A file `cgroup.procs` that is open for writing, or -1.
    int group;
    unsigned int mask;
    /// The value for /proc/self/oom_score_adj.
    const char *oom_adjustment;
    /// Whether orphaned descendants become children of the new process.
    int adopts_orphans;
    /// Whether the kernel kills the new process when the thread that calls `launcher_start` ends.
    int ends_with_thread;
};

struct launcher_result {
    pid_t pid;
    /// Has the flag CLOEXEC. The caller closes it.
    int pidfd;
    /// The step that failed, or launcher_step_none.
    int step;
    /// The error number of that step.
    int error;
    /// The target descriptor, or the resource, that the step failed for; otherwise -1.
    int subject;
};

struct launcher_end {
    /// CLD_EXITED, CLD_KILLED or CLD_DUMPED.
    int code;
    /// The exit code or the signal.
    int status;
    struct rusage usage;
};

/// Starts a process and returns when it has executed its program. If a step fails, the process is already reaped.
void launcher_start(const struct launcher_plan *plan, struct launcher_result *result);

/// Returns 1 if the process has ended and can be reaped, 0 if not, and a negated error number if it is not a child of this
/// process or was reaped elsewhere.
int launcher_has_ended(int pidfd);

/// Reaps the process if it has ended.
///
/// Returns 1 if this call reaped it, 0 if it has not ended, and a negated error number if it is not a child of this process or
/// was reaped elsewhere.
int launcher_reap(int pidfd, struct launcher_end *end);

/// Like `kill`, but by descriptor, so that it never reaches another process that reuses the number.
int launcher_signal(int pidfd, int number);

/// Returns a descriptor of the process, with the flag CLOEXEC, or -1.
int launcher_open(pid_t pid);

/// Makes this process the parent of its orphaned descendants. Returns 0, or -1 with errno.
int launcher_adopt_orphans(void);

struct launcher_facts {
    pid_t parent;
    /// Whether all threads have ended, so that only the entry for the parent is left.
    int is_dead;
    /// Whether a signal such as SIGSTOP has stopped it.
    int is_stopped;
};

/// Reads /proc/PID/stat. Returns 0, or -1 if the process does not exist or is hidden, as `ProtectProc=` hides some processes.
int launcher_facts(pid_t pid, struct launcher_facts *facts);

#endif
