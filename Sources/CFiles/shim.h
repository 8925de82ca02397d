#include <linux/magic.h>
#include <linux/stat.h>
#include <stddef.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

// The C library has these functions, but declares them only under feature macros.
int mincore(void *, size_t, unsigned char *);
long syscall(long, ...);
// F_OFD_GETLK and F_OFD_SETLK of fcntl.
static const int halyard_get_open_file_lock = 36, halyard_set_open_file_lock = 37;
// O_PATH of open.
static const int halyard_open_as_path = 010000000;

// Whether the file is only in memory, without a disk.
static inline int halyard_is_in_memory(int descriptor) {
    struct statfs facts;
    if (fstatfs(descriptor, &facts) != 0) return 0;
    return facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
}

// Whether the file itself is a mount point; also 0 if the kernel does not report it.
static inline int halyard_is_mount_point(int descriptor) {
    struct statx facts;
    if (syscall(SYS_statx, descriptor, "", 0x1000 /* AT_EMPTY_PATH */, 0, &facts) != 0) return 0;
    return (facts.stx_attributes_mask & facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}
