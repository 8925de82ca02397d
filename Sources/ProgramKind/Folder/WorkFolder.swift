import CLinux
import Glibc
import JobFiles
import Jobs

/// A system call that failed on a file, as a clause for people.
package struct FileFailure: Error, CustomStringConvertible {
    let action: String
    let path: String
    /// The error number.
    package let code: Int32

    init(_ action: String, _ path: String, _ code: Int32 = errno) {
        self.action = action
        self.path = path
        self.code = code
    }

    package var description: String { "cannot \(action) \(path): \(String(cString: strerror(code)))" }
}

/// The folder of one attempt, which only its program uses.
struct WorkFolder {
    let path: String
    private let root: String
    private let name: String

    /// The path of the result file.
    var output: String { "\(path)/output" }
    /// The size of the result file; 0 if there is none.
    var outputBytes: Int {
        var facts = stat()
        return lstat(output, &facts) == 0 ? Int(facts.st_size) : 0
    }
    /// The path of the socket for the program's notifications.
    var socket: String { "\(path)/.notify" }

    /// Whether a work folder can have this name: a job's number and an attempt's.
    static func isName(_ name: ArraySlice<UInt8>) -> Bool {
        let numbers = name.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return numbers.count == 2 && numbers.allSatisfy { !$0.isEmpty && $0.allSatisfy { (0x30...0x39).contains($0) } }
    }

    /// Creates an empty folder with the mode 0700.
    init(of lease: Lease, in root: String) throws(FileFailure) {
        self.root = root
        name = "\(lease.job)-\(lease.attempt)"
        path = "\(root)/\(name)"
        if mkdir(path, 0o700) == 0 { return }
        guard errno == EEXIST else { throw FileFailure("create the work folder", path) }
        // A daemon that died before the attempt was recorded has left it.
        try remove()
        guard mkdir(path, 0o700) == 0 else { throw FileFailure("create the work folder", path) }
    }

    /// Gives the program a clone or a copy of a file, in a folder that is created when it is needed. Through a link it
    /// could change the file, which other attempts need.
    ///
    /// - Parameter room: The room for copies. A clone uses none.
    /// - Returns: The path of the copy.
    /// - Throws: ``FileFailure``, with ENOSPC if there is not enough room. Then there is no copy, not even a part of one.
    func copy(
        _ file: String, as name: String, in folder: String, room: PromisedRoom = .shared
    ) throws(FileFailure) -> String {
        let source = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard source >= 0 else { throw FileFailure("open", file) }
        defer { close(source) }
        let path = "\(try makeFolder(folder))/\(name)"
        let copy = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard copy >= 0 else { throw FileFailure("create", path) }
        defer { close(copy) }
        if ioctl(copy, UInt(halyard_clone_file), source) == 0 { return path }
        do throws(FileFailure) {
            try fill(copy, from: source, path: path, file: file, room)
        } catch {
            // The failure is recorded before the work folder is removed, perhaps on the same disk.
            unlink(path)
            throw error
        }
        return path
    }

    private func fill(
        _ copy: Int32, from source: Int32, path: String, file: String, _ room: PromisedRoom
    ) throws(FileFailure) {
        var facts = stat()
        guard fstat(source, &facts) == 0 else { throw FileFailure("read", file) }
        func checkingRoom<Value>(_ body: () throws(NoRoom) -> Value) throws(FileFailure) -> Value {
            do throws(NoRoom) {
                return try body()
            } catch {
                throw FileFailure("copy", file, ENOSPC)
            }
        }
        let promise = try checkingRoom { () throws(NoRoom) in try room.promise(Int64(facts.st_size), in: root) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(source, &buffer, buffer.count)
            if count == 0 { return }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileFailure("read", file) }
            try checkingRoom { () throws(NoRoom) in try promise.use(Int64(count)) }
            var rest = buffer[..<count]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { write(copy, $0.baseAddress, $0.count) }
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { throw FileFailure("write", path) }
                rest = rest.dropFirst(written)
            }
        }
    }

    /// Creates a folder inside, which may exist already.
    ///
    /// - Returns: Its path.
    func makeFolder(_ name: String) throws(FileFailure) -> String {
        let folder = "\(path)/\(name)"
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw FileFailure("create the folder", folder) }
        return folder
    }

    /// Removes the folder with its content.
    func remove() throws(FileFailure) { try FolderRemoval(in: root).remove(name) }
}
