#ifndef C_ALLOCATION_COUNT_H
#define C_ALLOCATION_COUNT_H

/// The number of memory allocations of this process, on all threads. A program that links this gets a malloc that counts.
unsigned long allocation_count(void);

#endif
