import Jobs

/// The name of a file in the spool: when it came and what nobody can guess, `m3x0k2a1-…`.
struct SpoolName: Hashable, Sendable {
    let text: String
    let keptAt: Timestamp

    init(keptAt: Timestamp) {
        self.keptAt = keptAt
        let secret = UInt128.random(in: UInt128.min...UInt128.max)
        text = String(keptAt.milliseconds, radix: 36) + "-" + String(secret, radix: 36)
    }

    /// Nil for a name that the spool has not given, e.g. one that leads out of the folder.
    init?(_ text: String) {
        let stem = text.hasSuffix(SpoolFile.unfinished) ? text.dropLast(SpoolFile.unfinished.count) : text[...]
        let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let moment = Int64(parts[0], radix: 36), moment >= 0,
            UInt128(parts[1], radix: 36) != nil, stem.utf8.allSatisfy({ $0 != UInt8(ascii: "+") })
        else { return nil }
        self.text = text
        keptAt = Timestamp(milliseconds: moment)
    }
}
