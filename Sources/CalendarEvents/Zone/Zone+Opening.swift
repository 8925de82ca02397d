import FoundationEssentials
import Synchronization

extension Zone {
    /// The directory of the IANA database on Linux.
    public static let directory = "/usr/share/zoneinfo"

    /// All zones that were loaded by name, kept for the lifetime of the process. Only valid zones are kept, so there
    /// are at most as many as the database has files.
    private static let known = Mutex<[String: Zone]>([:])

    /// Loads a zone, once per process; later calls return the same zone. A zone that could not be loaded is tried
    /// again.
    ///
    /// - Parameter name: `UTC` or a name in the IANA database, such as `Europe/Berlin`.
    /// - Throws: ``ZoneProblem`` if there is no such zone or its file is invalid.
    public init(named name: String) throws(ZoneProblem) {
        if name == "UTC" {
            self = .utc
            return
        }
        guard Self.isName(name) else { throw .unknown(name) }
        if let zone = Self.known.withLock({ $0[name] }) {
            self = zone
            return
        }
        try self.init(named: name, path: "\(Self.directory)/\(name)")
        // Two threads that load the zone at the same time store equal values.
        let zone = self
        Self.known.withLock { $0[name] = zone }
    }

    /// The local zone of the process, as ``local(environment:)`` finds it.
    public static func local() -> Zone { local(environment: ProcessInfo.processInfo.environment["TZ"]) }

    /// The local zone of the process: `TZ`, interpreted as glibc does, otherwise `/etc/localtime`, otherwise UTC. A `TZ`
    /// that POSIX does not allow, such as an offset of more than 24 hours, is also treated as UTC.
    ///
    /// - Parameter environment: The value of `TZ`; nil if it is not set.
    public static func local(environment: String?) -> Zone {
        guard let environment else {
            let path = "/etc/localtime"
            return opened(localName(path) ?? "local", path) ?? .utc
        }
        let name = environment.hasPrefix(":") ? String(environment.dropFirst()) : environment
        if name.hasPrefix("/") { return opened(name, name) ?? .utc }
        if isName(name), let zone = opened(name, "\(directory)/\(name)") { return zone }
        return ZoneRule(name)?.zone(named: name) ?? .utc
    }

    private static func opened(_ name: String, _ path: String) -> Zone? {
        try? Zone(named: name, path: path)  // An unreadable zone is treated as UTC, as in every other program.
    }

    private static func localName(_ link: String) -> String? {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link)  // The name is only displayed.
        guard let parts = target?.split(separator: "/"), let directory = parts.firstIndex(of: "zoneinfo") else {
            return nil
        }
        return parts[(directory + 1)...].joined(separator: "/")
    }

    private init(named name: String, path: String) throws(ZoneProblem) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            throw .unknown(name)
        } catch {
            throw .unreadable(name, reason: "\(path): \(error)")
        }
        var file = ZoneFile(Array(data.prefix(1 << 20)))
        do throws(ZoneFile.Problem) {
            self = try file.zone(named: name)
        } catch {
            throw .unreadable(name, reason: "\(path): \(error.reason)")
        }
    }

    /// Whether a name is safe to use as a path within the database: letters, digits, `-`, `_` and `+`, in parts
    /// separated by single slashes.
    static func isName(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            !part.isEmpty
                && part.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                        || byte == 0x2D || byte == 0x5F || byte == 0x2B
                }
        } && name.utf8.count <= 255
    }
}
