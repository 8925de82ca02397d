#ifndef HALYARD_CPOWERCUT_H
#define HALYARD_CPOWERCUT_H

#include <stdint.h>

/// From now on every file that SQLite opens in this process is watched: what is written, cut and synced goes, in order,
/// to the file `log`. Returns 0, or an SQLite result code.
///
/// A record is: kind (1 byte), file (1 byte), offset (8 bytes), length (4 bytes), all little-endian, and for a write its
/// bytes. Kinds: 'o' opened (the bytes are the path), 'w' write, 't' truncated to the offset, 's' synced, 'd' deleted,
/// 'a' acknowledged (the offset is what the caller gave).
int halyard_powercut_record(const char *log);

/// Notes that something was acknowledged to a caller.
void halyard_powercut_acknowledge(int64_t number);

#endif
