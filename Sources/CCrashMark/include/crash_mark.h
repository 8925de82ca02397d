#ifndef C_CRASH_MARK_H
#define C_CRASH_MARK_H

/// The offset of the mark in its file.
#define CRASH_MARK_OFFSET 512
#define CRASH_MARK_BYTES 16

/// After this call, if a library traps because it could not open a file (EMFILE, ENFILE), the process prints the reason and
/// exits with status 74. SwiftNIO and libdispatch offer no other way to detect this. For all other causes, the handlers that
/// were installed before this call run.
void crash_mark_install(void);

/// After this call, a fatal signal or a call of exit() leaves a mark in the open file: `signal N`, `shortage` (of files) or
/// `exit`, and a line feed. No other end of the process leaves a mark: not SIGKILL, not _exit(), not a stack overflow, and not
/// a SIGABRT that another process sent, such as a service manager whose watchdog expired.
///
/// There is only one marked file at a time; -1 means none.
void crash_mark_into(int file);

#endif
