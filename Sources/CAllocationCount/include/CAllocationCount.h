#ifndef C_ALLOCATION_COUNT_H
#define C_ALLOCATION_COUNT_H

/// How often this process has asked for memory, on all threads. A program that links this gets a malloc that counts.
unsigned long allocation_count(void);

#endif
