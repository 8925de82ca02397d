#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

// The C library has these functions, but declares them only under feature macros.
int pipe2(int[2], int);
int memfd_create(const char *, unsigned int);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
enum { halyard_limit_of_processes = __RLIMIT_NPROC, halyard_open_path = __O_PATH, halyard_clone_file = FICLONE };

/// Receives a datagram without waiting, and closes the descriptors that came with it.
///
/// Returns its size, which may be larger than the buffer, or -1 with errno.
static inline ssize_t halyard_receive(int socket, void *buffer, size_t size) {
    union {
        char bytes[CMSG_SPACE(253 * sizeof(int))];
        struct cmsghdr alignment;
    } control;
    struct iovec part = {buffer, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (length < 0) return length;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        int count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (int i = 0; i < count; i++) close(((int *)CMSG_DATA(header))[i]);
    }
    return length;
}

/// Limits this thread to the system calls that reading documents needs. Any other call kills the process.
///
/// Returns 0, or errno. Open descriptors stay open, but only descriptors 0 and 2 can be used.
static inline int halyard_lock_down(void) {
#if defined(__x86_64__)
    const unsigned int architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    const unsigned int architecture = AUDIT_ARCH_AARCH64;
#else
#error "add the audit number of this architecture"
#endif
#define HALYARD_LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define HALYARD_ARGUMENT(index) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (index))
#define HALYARD_IF(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
#define HALYARD_ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define HALYARD_KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define HALYARD_MAY(call) HALYARD_IF(SYS_##call, 0, 1), HALYARD_ALLOW
    struct sock_filter filter[] = {
        HALYARD_LOAD(arch), HALYARD_IF(architecture, 1, 0), HALYARD_KILL,
        HALYARD_LOAD(nr),
        HALYARD_MAY(brk), HALYARD_MAY(munmap), HALYARD_MAY(mremap), HALYARD_MAY(madvise), HALYARD_MAY(futex),
        HALYARD_MAY(clock_gettime), HALYARD_MAY(getrandom), HALYARD_MAY(sched_yield), HALYARD_MAY(exit),
        HALYARD_MAY(exit_group), HALYARD_MAY(rt_sigreturn), HALYARD_MAY(rt_sigprocmask), HALYARD_MAY(rt_sigaction),
        HALYARD_MAY(getpid), HALYARD_MAY(gettid),
        // Needed to abort. A signal can be sent only to this process.
        HALYARD_IF(SYS_tgkill, 0, 4), HALYARD_ARGUMENT(0), HALYARD_IF((unsigned int)getpid(), 0, 1), HALYARD_ALLOW,
        HALYARD_KILL,
        HALYARD_IF(SYS_read, 0, 4), HALYARD_ARGUMENT(0), HALYARD_IF(0, 0, 1), HALYARD_ALLOW, HALYARD_KILL,
        HALYARD_IF(SYS_write, 0, 5), HALYARD_ARGUMENT(0), HALYARD_IF(0, 1, 0), HALYARD_IF(2, 0, 1), HALYARD_ALLOW,
        HALYARD_KILL,
        // No new memory may be executable.
        HALYARD_IF(SYS_mmap, 1, 0), HALYARD_IF(SYS_mprotect, 0, 3), HALYARD_ARGUMENT(2),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0), HALYARD_ALLOW, HALYARD_KILL,
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    if (prctl(PR_SET_NAME, "halyard-reader", 0, 0, 0) != 0) return errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return errno;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) return errno;
    return 0;
}
