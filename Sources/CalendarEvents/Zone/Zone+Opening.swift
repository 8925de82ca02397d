import FoundationEssentials
import Synchronization

extension Zone {
    /// Where Linux keeps the IANA database.
    public static let directory = "/usr/share/zoneinfo"

    /// Every zone that was read by name, for the rest of the process. Only what can be read is kept, so there are no more
    /// than the database has files.
    private static let known = Mutex<[String: Zone]>([:])

    /// Read once: whoever names the zone again shares it. One that cannot be read is tried again each time.
    ///
    /// - Parameter name: Of the IANA database, as `Europe/Berlin`, or `UTC`.
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
        // Two that read it at the same time keep the same.
        let zone = self
        Self.known.withLock { $0[name] = zone }
    }

    /// The process's own.
    public static func local() -> Zone { local(environment: ProcessInfo.processInfo.environment["TZ"]) }

    /// The process's own: `TZ` as glibc reads it, else `/etc/localtime`, else UTC.
    ///
    /// - Parameter environment: The value of `TZ`; nil when it is not set.
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
        try? Zone(named: name, path: path)  // A zone that cannot be read is UTC, as it is to every other program.
    }

    private static func localName(_ link: String) -> String? {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link)  // Only a name to show.
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

    /// Letters, digits, `-`, `_` and `+`, in parts divided by single slashes: nothing that leads out of the database.
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
