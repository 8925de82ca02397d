// Preloaded: each sync takes three seconds, as on a disk that is busy.
#include <sys/syscall.h>
#include <unistd.h>

int fdatasync(int descriptor) {
    sleep(3);
    return (int)syscall(SYS_fdatasync, descriptor);
}
