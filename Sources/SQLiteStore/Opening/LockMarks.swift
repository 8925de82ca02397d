import Glibc

/// Marks that a holder of the lock leaves for the next one in the third line of the lock file, such as
/// `failed-sync=BOOT suspect`.
///
/// The mark of a failed sync needs no sync itself: it concerns the page cache, which a power cut clears.
struct LockMarks: Sendable, Hashable {
    /// The boot in which a sync failed, until the files have been read from the disk again.
    var failedSyncBoot: String?
    /// SQLite reported damage while the store was in use. The next start checks the database completely.
    var suspectsDamage = false
    /// The database file that was removed or replaced while the store was in use.
    var lostDatabase: FileIdentity?

    init() {}

    init(_ line: some StringProtocol) {
        for word in line.split(separator: " ") {
            let parts = word.split(separator: "=", maxSplits: 1)
            switch parts[0] {
            case "failed-sync": failedSyncBoot = parts.count > 1 ? String(parts[1]) : Self.unknownBoot
            case "suspect": suspectsDamage = true
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
        return words.joined(separator: " ")
    }

    var isEmpty: Bool { self == LockMarks() }

    mutating func noteFailedSync() { failedSyncBoot = Self.boot }

    /// Whether the page cache may differ from the disk. A mark from an earlier boot says nothing about the current page
    /// cache; an unknown boot may be this one.
    var mayCacheDiffer: Bool {
        guard let failedSyncBoot else { return false }
        return failedSyncBoot == Self.unknownBoot || Self.boot == Self.unknownBoot || failedSyncBoot == Self.boot
    }

    private static let unknownBoot = "unknown"

    /// The boot id; unknown when a sandbox hides `/proc`.
    private static let boot: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return unknownBoot }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 36)
        guard read(descriptor, &bytes, bytes.count) == bytes.count else { return unknownBoot }
        return String(decoding: bytes, as: UTF8.self)
    }()
}
