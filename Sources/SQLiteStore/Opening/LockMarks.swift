import Glibc
import Jobs

/// The marks that a holder of the lock leaves for the next holder, in the third line of the lock file, such as
/// `failed-sync=BOOT suspect`.
///
/// The mark of a failed sync needs no sync itself: it concerns the page cache, which a power cut clears.
struct LockMarks: Sendable, Hashable {
    /// The id of the boot in which a sync failed. Cleared once the files have been read from the disk again.
    var failedSyncBoot: String?
    /// Whether SQLite reported damage while the store was in use. If so, the next start checks the database completely.
    var suspectsDamage = false
    /// The database file that was removed or replaced while the store was in use.
    var lostDatabase: FileIdentity?
    /// How the previous process that ran jobs ended. Kept until those jobs are rescued.
    var lastEnd: LastEnd?
    /// The number of abandoned attempts, whose code was still running.
    var abandoned = 0

    init() {}

    init(_ line: some StringProtocol) {
        for word in line.split(separator: " ") {
            let parts = word.split(separator: "=", maxSplits: 1)
            switch parts[0] {
            case "failed-sync": failedSyncBoot = parts.count > 1 ? String(parts[1]) : Self.unknownBoot
            case "suspect": suspectsDamage = true
            case "crashed": lastEnd = parts.count > 1 ? .crashed(cause: String(parts[1])) : nil
            case "shortage": lastEnd = .unrelated(reason: Self.tooManyFiles)
            case "stopped": lastEnd = .unrelated(reason: Self.storeStopped)
            case "abandoned": abandoned = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
            case "lost": lostDatabase = parts.count > 1 ? FileIdentity(parts[1]) : nil
            default: continue
            }
        }
    }

    var text: String {
        var words: [String] = []
        if let failedSyncBoot { words.append("failed-sync=\(failedSyncBoot)") }
        if suspectsDamage { words.append("suspect") }
        if let lostDatabase { words.append("lost=\(lostDatabase.text)") }
        switch lastEnd {
        case .crashed(let cause): words.append("crashed=\(cause)")
        case .unrelated(let reason): words.append(reason == Self.tooManyFiles ? "shortage" : "stopped")
        case .unexplained, nil: break
        }
        if abandoned > 0 { words.append("abandoned=\(abandoned)") }
        return words.joined(separator: " ")
    }

    private static let tooManyFiles = "The daemon ended because it could not open more files,"
    private static let storeStopped = "The daemon ended because it could not use the database,"

    /// Keeps the mark of an earlier process whose jobs were not rescued yet.
    mutating func noteStoreStopped() { lastEnd = lastEnd ?? .unrelated(reason: Self.storeStopped) }

    /// Sets ``lastEnd`` from the mark of a process that died.
    ///
    /// - Parameter mark: The text that the dying process wrote (``DatabaseLock/marksCrashes()``): `signal N`,
    ///   `shortage` or `exit`.
    mutating func noteCrash(_ mark: some StringProtocol) {
        let words = mark.prefix { $0 != "\n" }.split(separator: " ")
        // A cause that was already recorded stays: if a process crashes while it is stopping by itself, the crash is
        // not the cause of its end.
        guard lastEnd == nil, mark.contains("\n"), let first = words.first else { return }
        switch first {
        case "signal":
            let number = words.count > 1 ? Int32(words[1]) : nil
            lastEnd = number.flatMap { Self.signalNames[$0] }.map { .crashed(cause: $0) }
        case "shortage": lastEnd = .unrelated(reason: Self.tooManyFiles)
        case "exit": lastEnd = .crashed(cause: "exit")
        default: break
        }
    }

    private static let signalNames = [
        SIGSEGV: "SIGSEGV", SIGBUS: "SIGBUS", SIGILL: "SIGILL", SIGFPE: "SIGFPE", SIGTRAP: "SIGTRAP", SIGSYS: "SIGSYS",
        SIGABRT: "SIGABRT",
    ]

    var isEmpty: Bool { self == LockMarks() }

    mutating func noteFailedSync() { failedSyncBoot = Self.boot }

    /// Whether the page cache may differ from the disk. A mark from an earlier boot says nothing about the current page
    /// cache; an unknown boot may be this one.
    var mayCacheDiffer: Bool {
        guard let failedSyncBoot else { return false }
        return failedSyncBoot == Self.unknownBoot || Self.boot == Self.unknownBoot || failedSyncBoot == Self.boot
    }

    private static let unknownBoot = "unknown"

    private static let boot = bootID ?? unknownBoot
}
