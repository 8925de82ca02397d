import Glibc

/// The identity of a daemon, which lasts as long as its home: 32 hexadecimal digits in the file `daemon-id`.
///
/// The next process with the same home takes back the jobs of the one before it at once. It must hold the home's lock.
public struct DaemonIdentity: Sendable, Hashable {
    /// The content of the file.
    public let text: String
    /// The place of the file, as the kernel numbers it. A copy of the file has another place, also on the same host.
    public let place: String

    private static let name = "daemon-id"

    /// Reads the identity of a home, and creates it for a new home.
    ///
    /// - Throws: ``StoreOpenFailure`` if the file cannot be read, written or understood.
    static func ofDaemon(in home: String) throws(StoreOpenFailure) -> DaemonIdentity {
        if let file = try HomeFile(name, in: home) { return try DaemonIdentity(file) }
        try HomeFile.write(random(), to: name, in: home)
        guard let file = try HomeFile(name, in: home) else {
            throw StoreOpenFailure(.wrong, "\(home)/\(name) disappeared while the daemon started. Start it again.")
        }
        return try DaemonIdentity(file)
    }

    private init(_ file: HomeFile) throws(StoreOpenFailure) {
        (text, place) = (file.line, file.place)
        guard text.utf8.count == 32, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw StoreOpenFailure(
                .wrong,
                "\(file.path) does not contain the identity of a daemon. Remove it; the next start creates a new one.")
        }
    }

    private static func random() -> String {
        var random = SystemRandomNumberGenerator()
        return [random.next(), random.next()].map { (number: UInt64) in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// The database whose jobs the files of a home belong to, in the file `database-id`.
enum HomeDatabase {
    private static let name = "database-id"

    /// Whether a daemon with this home has opened a database.
    static func isBound(_ home: String) -> Bool { access(home + "/" + name, F_OK) == 0 }

    /// Refuses a home that belongs to another database, and gives a new home to this one. Its files are named after the
    /// numbers of jobs, and those of unknown jobs are removed.
    ///
    /// - Throws: ``StoreOpenFailure``.
    static func bind(_ home: String, to database: String) throws(StoreOpenFailure) {
        guard let file = try HomeFile(name, in: home) else {
            return try HomeFile.write(database, to: name, in: home)
        }
        if file.line == database { return }
        throw StoreOpenFailure(
            .wrong,
            "\(home) is the home of a daemon of another database: its files belong to the jobs there. Use another folder (the key home), or remove this one if they are not needed any more."
        )
    }
}
