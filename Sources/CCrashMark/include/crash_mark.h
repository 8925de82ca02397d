#ifndef C_CRASH_MARK_H
#define C_CRASH_MARK_H

/// Where a mark begins in its file.
#define CRASH_MARK_OFFSET 512
#define CRASH_MARK_BYTES 16

/// From now on, where a library traps because it could not open a file (EMFILE, ENFILE), the process prints why and ends
/// with status 74. SwiftNIO and libdispatch offer no other way to hear of it. Handlers that were installed before run for every
/// other cause.
void crash_mark_install(void);

/// From now on, a fatal signal or a call of exit() leaves a mark in the open file: `signal N`, `shortage` (of files) or `exit`,
/// and a line feed.
/// Nothing else does: not SIGKILL, not _exit(), not an overflow of the stack, and not a SIGABRT that another process sent, such
/// as that of a service manager whose watchdog ran out.
///
/// One file at a time; -1 ends it.
void crash_mark_into(int file);

#endif
