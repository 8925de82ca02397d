#include <linux/magic.h>
#include <linux/stat.h>
#include <stddef.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

// The C library has these, but declares them only for sources that ask for them.
int mincore(void *, size_t, unsigned char *);
long syscall(long, ...);
// F_OFD_GETLK and F_OFD_SETLK of fcntl.
static const int halyard_get_open_file_lock = 36, halyard_set_open_file_lock = 37;
// O_PATH of open.
static const int halyard_open_as_path = 010000000;

// Whether the file lives in memory alone, with no disk behind it.
static inline int halyard_is_in_memory(int descriptor) {
    struct statfs facts;
    if (fstatfs(descriptor, &facts) != 0) return 0;
    return facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
}

// Whether something is mounted on exactly the name by which the file was opened; 0 also where the kernel cannot tell.
static inline int halyard_is_mount_point(int descriptor) {
    struct statx facts;
    if (syscall(SYS_statx, descriptor, "", 0x1000 /* AT_EMPTY_PATH */, 0, &facts) != 0) return 0;
    return (facts.stx_attributes_mask & facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}
