#ifndef HALYARD_CBASELINE_H
#define HALYARD_CBASELINE_H

/// Runs the life of jobs (enqueue, claim, success with a result) as a plain loop over SQLite's C interface, on a minimal
/// schema: the upper limit to which a store is compared.
///
/// Creates a database at `path`, with the store's durability settings. `batch` jobs share a transaction, and the ends of
/// a batch share a transaction with the claims of the next batch. Inputs and results have the same sizes as in the
/// benchmark.
///
/// Returns the number of jobs per second, or a negative SQLite result code.
double halyard_baseline_run(const char *path, int jobs, int batch);

#endif
