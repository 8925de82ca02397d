#include <errno.h>
#include <iconv.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The C library of Debian 12 has no openat2, and syscall() takes variable arguments, which Swift does not call.
static inline int halyard_openat2(int folder, const char *path, const struct open_how *how) {
    return (int)syscall(SYS_openat2, folder, path, how, sizeof(*how));
}
