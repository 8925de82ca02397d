import Jobs

/// Moves all facts from one database to another.
///
/// - V1: The source is marked as moved only after both sides were read again and found to be equal.
/// - V2: The target is usable only after the source was marked. So at no time can daemons use both.
/// - V3: If the process dies before the target was found to be equal, the next call begins again; after it, the next call
///   ends the move. A target that was found to be equal may be the only usable copy, so nothing is ever copied over it.
package struct Move {
    private let source: any MoveSource
    private let target: any MoveTarget
    private let progress: (Progress) -> Void

    /// The number of crashes after which a job fails if its daemon died before the move; a daemon's default is the
    /// same.
    package static let maxRescues = 3

    /// The progress of a move.
    package struct Progress: Sendable, Hashable {
        package enum Step: Sendable, Hashable { case copying, comparing }

        package var step: Step
        package var table: Facts
        /// The number of rows of the table so far.
        package var rows: Int
    }

    /// The result of a move.
    package struct Report: Sendable, Hashable {
        /// The digest of each table, which is the same in both databases. Empty if an earlier call has compared them.
        package var digests: [Facts: FactDigest] = [:]
        /// The number of jobs of each state.
        package var counts = StateCounts()
        /// Whether this call only completed an earlier one.
        package var isContinued = false
    }

    package init(from source: any MoveSource, to target: any MoveTarget, progress: @escaping (Progress) -> Void) {
        self.source = source
        self.target = target
        self.progress = progress
    }

    /// Refuses two databases if the jobs of one cannot be moved to the other.
    ///
    /// - Parameter mark: The source's ``MoveSource/mark``.
    /// - Returns: Whether an earlier call has copied and compared everything, so that only its last step is missing.
    /// - Throws: ``MoveFailure``
    @discardableResult
    package static func check(
        from place: String, key: String, mark: MoveMark?, to target: String, with content: MoveContent
    ) throws(MoveFailure) -> Bool {
        if let mark {
            if case .unfinished(let other) = content, other.id == mark.id, other.isVerified { return true }
            throw MoveFailure(
                .refused,
                "The jobs of \(place) were moved to \(mark.place) at \(mark.at.iso8601). Move them from there.")
        }
        switch content {
        case .nothing: return false
        case .unfinished(let mark):
            if mark.key == key { return false }
            throw MoveFailure(
                .refused,
                "\(target) contains an unfinished move from \(mark.place). Finish that move, or name another database."
            )
        case .moved(let mark):
            if mark.key == key { return false }
            throw MoveFailure(
                .refused,
                "The jobs of \(target) were moved to \(mark.place) at \(mark.at.iso8601), so only the jobs from there can be moved to it. Name another database."
            )
        case .jobs(let what):
            throw MoveFailure(
                .refused, "\(target) already has \(what). Name a database without jobs and definitions.")
        }
    }

    /// Copies all facts, compares both databases, and lets daemons use only the target.
    ///
    /// - Parameters:
    ///   - id: Identifies the move.
    ///   - prepare: Called when both databases are equal, before the source is marked.
    package func run(id: String, at now: Timestamp, prepare: () throws -> Void) throws -> Report {
        var report = Report()
        let isMarked = try Self.check(
            from: source.place, key: source.key, mark: source.mark, to: target.place, with: target.content)
        if isMarked {
            report.isContinued = true
            try Self.ending {
                try prepare()
                try target.finish()
            }
            return report
        }
        try source.settle()
        if case .unfinished(let mark) = target.content, mark.isVerified {
            report.digests = try compare { different in
                MoveFailure(
                    .refused,
                    "\(target.place) contains a complete copy, but not of the jobs that are in \(source.place) now. If jobs have run there since that move, or were restored from a backup, and you want to continue with them, drop the copy first (the schema halyard, or the file). Otherwise keep both, and restore the \(source.place) from which the copy was made.",
                    details: different)
            }
            report.counts = try Self.counts { body in try target.read(.counts, body) }
            try prepare()
            try end(id: mark.id, at: now)
            return report
        }
        try target.begin(
            MoveMark(id: id, key: source.key, place: source.place, at: now), try source.clock())
        for table in Facts.allCases {
            var rows = 0
            try source.read(table) { batch in
                try target.add(batch)
                rows += batch.count
                progress(Progress(step: .copying, table: table, rows: rows))
            }
        }
        try target.complete()
        report.digests = try compare { different in
            MoveFailure(
                .different,
                "The copy differs from \(source.place), which is unchanged. This is a defect; please report it with these lines.",
                details: different)
        }
        report.counts = try Self.counts { body in try target.read(.counts, body) }
        try prepare()
        try target.markVerified()
        try end(id: id, at: now)
        return report
    }

    private func end(id: String, at now: Timestamp) throws {
        try Self.ending {
            try source.markMoved(MoveMark(id: id, key: target.key, place: target.place, at: now, isVerified: true))
            try target.finish()
        }
    }

    private static func ending(_ body: () throws -> Void) throws(UnendedMove) {
        do { try body() } catch { throw UnendedMove(cause: error) }
    }

    /// Reads the digests of a source, and changes nothing.
    package static func digests(
        of read: (Facts, (FactBatch) throws -> Void) throws -> Void,
        progress: @escaping (Facts, Int) -> Void = { _, _ in }
    ) throws -> [Facts: FactDigest] {
        var digests: [Facts: FactDigest] = [:]
        for table in Facts.allCases {
            var hash = FactHash()
            var rows = 0
            try read(table) { batch in
                hash.add(batch)
                rows += batch.count
                progress(table, rows)
            }
            digests[table] = hash.digest
        }
        return digests
    }

    /// The numbers of jobs by state, from the rows of ``Facts/counts``.
    package static func counts(_ read: ((FactBatch) throws -> Void) throws -> Void) throws -> StateCounts {
        var counts = StateCounts()
        try read { batch in
            for state in JobState.allCases {
                let column = batch[Facts.states[state.rawValue].name]
                counts[state] += column.integers.reduce(0) { $0 + ($1 ?? 0) }
            }
        }
        return counts
    }

    private func compare(
        orThrow failure: (_ different: [String]) -> MoveFailure
    ) throws -> [Facts: FactDigest] {
        let found = try Self.digests(of: target.read) { table, rows in
            progress(Progress(step: .comparing, table: table, rows: rows))
        }
        let expected = try Self.digests(of: source.read)
        let different = Facts.allCases.filter { found[$0] != expected[$0] }
        guard different.isEmpty else {
            throw failure(
                different.map { table in
                    "\(table.rawValue): \(expected[table]?.text ?? "") there, \(found[table]?.text ?? "") in the copy"
                })
        }
        return expected
    }
}

extension FactDigest {
    fileprivate var text: String { "\(count) rows with SHA-256 \(sha256.prefix(16))…" }
}
