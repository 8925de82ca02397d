#ifndef HALYARD_CBASELINE_H
#define HALYARD_CBASELINE_H

/// The life of jobs (enqueue, claim, success with a result) as a plain loop over SQLite's C interface: the limit that a
/// store is measured against.
///
/// `path` is a database made by the store, that nobody has open, with at least one definition. The loop uses the same
/// tables, indexes and settings, and writes the same rows; `batch` jobs share a transaction, and a batch's ends share
/// one with the next batch's claims. The jobs stay in the database.
///
/// Returns jobs in a second, or a negative SQLite result code.
double halyard_baseline_run(const char *path, int jobs, int batch);

/// The same, enqueueing only.
double halyard_baseline_enqueue(const char *path, int jobs, int batch);

#endif
