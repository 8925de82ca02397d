// For LD_PRELOAD: makes each sync take three seconds, as on a busy disk.
#include <sys/syscall.h>
#include <unistd.h>

int fdatasync(int descriptor) {
    sleep(3);
    return (int)syscall(SYS_fdatasync, descriptor);
}
