#ifndef HALYARD_CBASELINE_H
#define HALYARD_CBASELINE_H

/// Runs the life of jobs (enqueue, claim, success with a result) as a plain loop over SQLite's C interface, on a
/// minimal
/// schema: the upper limit that a store is measured against.
///
/// Creates a database at `path`, with the store's durability settings. `batch` jobs share a transaction, and the ends
/// of a
/// batch share one with the claims of the next. Inputs and results have the same sizes as in the benchmark.
///
/// Returns jobs per second, or a negative SQLite result code.
double halyard_baseline_run(const char *path, int jobs, int batch);

#endif
