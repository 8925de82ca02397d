import Jobs
import Moving

/// The progress of a move.
public struct MoveProgress: Sendable, Hashable {
    /// Whether both sides are being compared; otherwise rows are being copied.
    public var isComparing: Bool
    /// The kind of rows, such as `jobs`.
    public var table: String
    /// The number of rows of this kind so far.
    public var rows: Int

    init(_ progress: Move.Progress) {
        isComparing = progress.step == .comparing
        table = progress.table.rawValue
        rows = progress.rows
    }
}

/// The facts that were moved, or would be.
public struct MoveReport: Sendable, Hashable {
    /// The rows of one kind.
    public struct Table: Sendable, Hashable {
        /// The kind, such as `jobs`.
        public var name: String
        /// The number of rows.
        public var rows: Int
        /// The SHA-256 of the rows, which is the same in both databases.
        public var sha256: String
    }

    /// The number of jobs by state.
    public var counts: StateCounts
    /// The rows by kind; empty if an earlier call has compared them.
    public var tables: [Table]
    /// Whether this call only completed an earlier one.
    public var isContinued: Bool

    init(_ digests: [Facts: FactDigest], _ counts: StateCounts, isContinued: Bool = false) {
        self.counts = counts
        self.isContinued = isContinued
        tables = Facts.allCases.compactMap { table in
            digests[table].map { Table(name: table.rawValue, rows: $0.count, sha256: $0.sha256) }
        }
    }

    init(_ report: Move.Report) { self.init(report.digests, report.counts, isContinued: report.isContinued) }
}
