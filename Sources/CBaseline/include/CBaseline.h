#ifndef HALYARD_CBASELINE_H
#define HALYARD_CBASELINE_H

/// The life of jobs (enqueue, claim, success with a result) as a plain loop over SQLite's C interface, on a schema of its own
/// with nothing in it but that: the limit that a store is measured against.
///
/// Creates a database at `path`, with the store's settings of durability. `batch` jobs share a transaction, and a batch's
/// ends share one with the next batch's claims. Inputs and results have the sizes of the benchmark's.
///
/// Returns jobs per second, or a negative SQLite result code.
double halyard_baseline_run(const char *path, int jobs, int batch);

#endif
