import ControlProtocol
import Dispatch
import Glibc
import JobFiles
import Jobs
import Synchronization

/// A folder in which the daemon keeps the files that callers send for a job.
///
/// A file appears under its name only when it is complete and durable. Names cannot be guessed, and only the
/// daemon's user can read the folder.
public final class Spool: Sendable {
    /// The path of the folder.
    public let directory: String
    /// The limit for the size of all files together, in bytes.
    public let maxBytes: Int64
    /// The room on the disk, which other copies use too.
    private let room: PromisedRoom
    private let contents = Mutex(Contents())
    /// Runs file operations on a dedicated thread, since they block.
    private let queue = DispatchQueue(label: "halyard.spool")

    /// A number of files and their total size.
    struct Amount: Sendable {
        var files = 0
        var bytes: Int64 = 0
    }

    private struct Contents {
        /// The sizes of complete files, and of incomplete ones that an earlier process left behind.
        var sizes: [SpoolName: Int64] = [:]
        /// The size of all files together, including files that are being written.
        var bytes: Int64 = 0

        mutating func add(_ file: SpoolName, _ size: Int64) {
            sizes[file] = size
            bytes += size
        }
    }

    /// How long a file is kept if no job ever named it: one day.
    public static let leftoverAge = Duration.seconds(86_400)

    /// Opens a spool. Creates its folder, accessible only to the owner, if it does not exist.
    ///
    /// - Throws: ``ControlProblem`` if the folder cannot be created or read. Retrying is safe.
    public init(directory: String, maxBytes: Int64, room: PromisedRoom = .shared) throws(ControlProblem) {
        self.directory = directory
        self.maxBytes = maxBytes
        self.room = room
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw SpoolError(path: directory, code: errno).problem
        }
        do throws(SpoolError) {
            for file in try Self.names(in: directory) {
                let size = Self.size(of: "\(directory)/\(file.text)")
                contents.withLock { $0.add(file, size) }
            }
        } catch {
            throw error.problem
        }
    }

    /// Stores a file completely. When it returns, the file is durable.
    ///
    /// - Parameters:
    ///   - size: The total size of the chunks in bytes, if it is known; then a different size is refused.
    ///   - home: The identity of the daemon, if others cannot read the file.
    ///   - keptForRetry: Returns the total size of the files that pruning would remove, for the message when
    ///     there is no room.
    func keep<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?, now: Timestamp, home: String? = nil,
        keptForRetry: @Sendable () -> Amount = { Amount() }
    ) async throws(ControlProblem) -> SpoolName where Chunks.Element == [UInt8] {
        if let size, size > maxBytes { throw tooLarge }
        if let size, contents.withLock({ $0.bytes + size > maxBytes }) { throw full(keptForRetry()) }
        let room = try await onThread { () throws(SpoolError) in
            try self.checkingRoom { () throws(NoRoom) in try self.room.promise(size, in: self.directory) }
        }
        let name = SpoolName(keptAt: now)
        let file = try await onThread { () throws(SpoolError) in
            try SpoolFile(directory: self.directory, name: name.text)
        }
        var count: Int64 = 0
        do {
            var print = Fingerprint()
            for try await chunk in chunks {
                let size = Int64(chunk.count)
                if count + size > maxBytes { throw tooLarge }
                guard reserve(size) else { throw full(keptForRetry()) }
                count += size
                print.add(chunk)
                try await onThread { () throws(SpoolError) in
                    try self.checkingRoom { () throws(NoRoom) in try room.use(size) }
                    try file.write(chunk)
                }
            }
            if let size, size != count {
                throw ControlProblem(
                    .invalidRequest, "The request announced \(size) bytes, but sent \(count). Send it again.")
            }
            let whole = name.whole(print, home: home)
            try await onThread { () throws(SpoolError) in try file.publish(as: whole.text) }
            contents.withLock { [count] in $0.sizes[whole] = count }
            return whole
        } catch {
            try await onThread { () throws(SpoolError) in file.discard() }
            contents.withLock { [count] in $0.bytes -= count }
            if let problem = error as? ControlProblem { throw problem }
            throw ControlProblem(.invalidRequest, "The file is incomplete (\(error)). Send it again.")
        }
    }

    private func checkingRoom<Value>(_ body: () throws(NoRoom) -> Value) throws(SpoolError) -> Value {
        do throws(NoRoom) {
            return try body()
        } catch {
            throw SpoolError(path: directory, code: ENOSPC, noRoom: error)
        }
    }

    private func reserve(_ size: Int64) -> Bool {
        contents.withLock { contents in
            guard contents.bytes + size <= maxBytes else { return false }
            contents.bytes += size
            return true
        }
    }

    /// The number of complete files, and the size of all files, including those that are being written.
    var amount: Amount { contents.withLock { Amount(files: $0.sizes.count, bytes: $0.bytes) } }

    func amount(of files: [SpoolName]) -> Amount {
        contents.withLock { contents in
            files.reduce(into: Amount()) { amount, file in
                guard let size = contents.sizes[file] else { return }
                amount.files += 1
                amount.bytes += size
            }
        }
    }

    private func full(_ kept: Amount) -> ControlProblem {
        let isKept = kept.files > 0
        return ControlProblem(
            .unavailable,
            "The spool is full: \(amount.bytes) of \(maxBytes) bytes are in use"
                + (isKept
                    ? ", \(kept.bytes) of them by \(kept.files) file\(kept.files == 1 ? "" : "s") of jobs that failed, were cancelled or were skipped. Prune such jobs (halyard prune --older-than 1d --outcome failed --outcome cancelled --outcome skipped), try again when other jobs have ended, or raise spool.limit."
                    : ". Try again when jobs have ended, or raise spool.limit."))
    }

    private var tooLarge: ControlProblem {
        ControlProblem(
            .tooLarge,
            "The file exceeds the limit of the spool (\(maxBytes) bytes). Put it inside one of the daemon's roots, or raise spool.limit."
        )
    }

    func holds(_ name: SpoolName) -> Bool { access("\(directory)/\(name.text)", F_OK) == 0 }

    /// Removes a file that no job needs any more, and then calls `done`. It is not an error if the file does
    /// not exist.
    func remove(_ name: SpoolName, done: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            if unlink("\(directory)/\(name.text)") == 0 || errno == ENOENT {
                contents.withLock { $0.bytes -= $0.sizes.removeValue(forKey: name) ?? 0 }
            }
            done()
        }
    }

    /// Returns the names of all files, including incomplete ones.
    func files() async throws(ControlProblem) -> [SpoolName] {
        try await onThread { () throws(SpoolError) in try Self.names(in: self.directory) }
    }

    private static func names(in directory: String) throws(SpoolError) -> [SpoolName] {
        guard let found = FolderNames(directory) else { throw SpoolError(path: directory, code: errno) }
        return found.names.compactMap { SpoolName($0) }
    }

    /// Returns the size in bytes, or 0 if the file does not exist.
    private static func size(of path: String) -> Int64 {
        var status = stat()
        return lstat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    private func onThread<Value: Sendable>(
        _ work: @escaping @Sendable () throws(SpoolError) -> Value
    ) async throws(ControlProblem) -> Value {
        let result: Result<Value, SpoolError> = await withCheckedContinuation { continuation in
            queue.async {
                do throws(SpoolError) {
                    continuation.resume(returning: .success(try work()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        switch result {
        case .success(let value): return value
        case .failure(let failure): throw failure.problem
        }
    }
}
