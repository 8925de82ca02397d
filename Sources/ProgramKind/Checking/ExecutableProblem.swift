import Glibc

/// The reason why the executable of a definition must not run, with the remedy.
public enum ExecutableProblem: Error, Sendable, Hashable {
    /// `program.roots` is empty.
    case noRoots
    /// The executable, or the file that it links to, is not beneath a root. The place is the target of a path with
    /// symbolic links, if the target is beneath a root; otherwise nil.
    case outsideRoots(path: String, roots: [String], place: String? = nil)
    /// The path is beneath a root, but leads through a symbolic link to a place that is not.
    case linkLeadsOutside(path: String, place: String, roots: [String])
    /// The path contains `..`. The place is where it leads now; nil if it leads nowhere.
    case namesParent(path: String, place: String?)
    /// A system call failed.
    case failed(path: String, errno: Int32)
    /// The path leads through too many symbolic links.
    case tooManyLinks(path: String)
    /// The path is not a regular file.
    case notRegular(path: String)
    /// The file is text, or empty, and does not begin with `#!`.
    case noInterpreter(path: String)
    /// The first line of the script names an interpreter that does not exist.
    case missingInterpreter(path: String, interpreter: String)
    /// The lines of the script end as on Windows, so the kernel takes the carriage return for a part of the interpreter's
    /// name.
    case carriageReturn(path: String)
    /// Nobody may execute the file.
    case notExecutable(path: String)
    /// A file or a folder on the way to it belongs to another user.
    case foreignOwner(path: String, owner: UInt32)
    /// Others than its owner may write to a file or a folder on the way to it.
    case writable(path: String, mode: UInt32)
    /// The file would run with the permissions of its owner or group.
    case setsID(path: String)
    /// The file would run with capabilities.
    case hasCapabilities(path: String)

    /// Whether another try may succeed, because the machine lacks a resource.
    var isTransient: Bool {
        if case .failed(_, let code) = self { return [EMFILE, ENFILE, ENOMEM, EIO, EINTR, ETIMEDOUT].contains(code) }
        return false
    }
}

extension ExecutableProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noRoots:
            "this daemon runs no programs; set program.roots in halyard.yaml to the folders of the executables that definitions may run"
        case .outsideRoots(let path, let roots, let place?):
            "\(path) is not beneath program.roots (\(roots.joined(separator: ", "))); it leads through a symbolic link to \(place), so write \(place) instead"
        case .outsideRoots(let path, let roots, nil):
            "\(path) is not beneath program.roots (\(roots.joined(separator: ", "))); use an executable from there, or add its folder to program.roots in halyard.yaml"
        case .linkLeadsOutside(let path, let place, let roots):
            "\(path) leads through a symbolic link to \(place), which is not beneath program.roots (\(roots.joined(separator: ", "))); use an executable from there, or add the folder of \(place) to program.roots in halyard.yaml"
        case .namesParent(let path, let place):
            "\(path) contains \"..\", which is not allowed; write the path without it\(place.map { ", which is \($0)" } ?? "")"
        case .failed(let path, let code):
            "\(path) cannot be opened: \(String(cString: strerror(code))); check that it exists and that the daemon's user may use it"
        case .tooManyLinks(let path): "\(path) leads through more than 40 symbolic links; name the file itself"
        case .notRegular(let path): "\(path) is not a regular file; name an executable file"
        case .noInterpreter(let path):
            "\(path) is a script without an interpreter; let its first line be #!/bin/sh, or the path of another interpreter"
        case .missingInterpreter(let path, let interpreter):
            "\(path) needs the interpreter \(interpreter), which does not exist; install it, or correct the first line"
        case .carriageReturn(let path):
            "\(path) has lines that end with a carriage return; run sed -i 's/\\r$//' \(path)"
        case .notExecutable(let path): "\(path) is not executable; run chmod 755 \(path)"
        case .foreignOwner(let path, let owner):
            "\(path) belongs to user \(owner), who could replace the program; run chown root \(path)"
        case .writable(let path, let mode):
            "\(path) has the mode \(String(mode, radix: 8)), so others could replace the program; run chmod go-w \(path)"
        case .setsID(let path):
            "\(path) runs with the permissions of its owner or group (setuid or setgid); use a copy without these bits"
        case .hasCapabilities(let path):
            "\(path) has file capabilities; use a copy without them"
        }
    }
}
