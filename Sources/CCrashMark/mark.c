#define _GNU_SOURCE
#include "crash_mark.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
enum { fatal_count = sizeof fatal / sizeof *fatal };

static struct sigaction previous[fatal_count];
static atomic_int marked_file = -1;
static atomic_flag is_installed = ATOMIC_FLAG_INIT;

// Everything from here to `crashed` is async-signal-safe.
static void leave(const char *mark, size_t length) {
    int file = atomic_load(&marked_file);
    // Errors are ignored: without a mark, the end counts as unexplained.
    if (file >= 0 && pwrite(file, mark, length, CRASH_MARK_OFFSET) < 0) return;
}

static void crashed(int number, siginfo_t *cause, void *context) {
    (void)context;
    int error = errno;
    int is_trap = number == SIGILL || number == SIGTRAP || number == SIGABRT;
    if (is_trap && (error == EMFILE || error == ENFILE)) {
        static const char words[] =
            "halyardd: too many files are open, and halyardd could not open another one that it needs. "
            "Raise the limit: LimitNOFILE= of the unit, or ulimit -n.\n";
        leave("shortage\n", 9);
        if (write(STDERR_FILENO, words, sizeof words - 1) < 0) _exit(74);
        _exit(74);
    }
    if (number != SIGABRT || cause->si_pid == getpid()) {
        char mark[] = "signal 00\n";
        mark[7] = (char)('0' + number / 10);
        mark[8] = (char)('0' + number % 10);
        leave(mark, sizeof mark - 1);
    }
    for (int i = 0; i < fatal_count; i++)
        if (fatal[i] == number) sigaction(number, &previous[i], NULL);
    // A fault recurs when its instruction is repeated. A signal that was sent, or a breakpoint, must be raised again.
    if (cause->si_code <= 0 || number == SIGTRAP) raise(number);
    errno = error;
}

static void exited(void) { leave("exit\n", 5); }

void crash_mark_install(void) {
    if (atomic_flag_test_and_set(&is_installed)) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = crashed;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    for (int i = 0; i < fatal_count; i++) sigaction(fatal[i], &action, &previous[i]);
    atexit(exited);
}

void crash_mark_into(int file) {
    atomic_store(&marked_file, file);
    if (file >= 0) crash_mark_install();
}
