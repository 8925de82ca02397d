import CLinux
import Glibc
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

    /// Gives the program a file of another job, in a folder that is created when it is needed. The file is linked, never
    /// copied.
    ///
    /// - Returns: The path of the link.
    func link(_ file: String, as name: String, in folder: String) throws(FileFailure) -> String {
        guard access(file, F_OK) == 0 else { throw FileFailure("find", file) }
        let name = "\(try makeFolder(folder))/\(name)"
        if Glibc.link(file, name) == 0 || symlink(file, name) == 0 { return name }
        throw FileFailure("link a file to", name)
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
