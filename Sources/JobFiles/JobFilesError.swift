import Glibc

/// The reason why a file of a job could not be read or written. No other file was changed.
public enum JobFilesError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A system call failed. Retrying is safe.
    case failed(action: String, path: String, errno: Int32)
    /// The path is not a regular file, or it is a symbolic link.
    case notRegular(path: String)
    /// The file is on a different file system, and files are never copied, whatever their size.
    case otherFileSystem(path: String, folder: String)
    /// The file has other hard links, through which somebody could change it later.
    case hasOtherNames(path: String)
    /// The file was changed or replaced while it was read.
    case changed(path: String)
    /// The name cannot be the name of a file.
    case invalidName
    /// The file was damaged, or it was changed by somebody else.
    case damaged(path: String)

    public var description: String {
        switch self {
        case .failed(let action, let path, let code):
            "\(action) \(path) failed: \(String(cString: strerror(code)))"
        case .notRegular(let path): "\(path) is not a regular file; write the result to a regular file"
        case .otherFileSystem(let path, let folder):
            "\(path) is on a different file system from \(folder); write the result to the attempt's own folder"
        case .hasOtherNames(let path): "\(path) has more than one hard link; write the result to a new file"
        case .changed(let path):
            "\(path) changed while it was read; the program must not write to its result after it has ended"
        case .invalidName: "a file's name must have 1 to 255 bytes, and must not contain \"/\" or a null byte"
        case .damaged(let path): "\(path) is damaged, or somebody has changed it; run the job that wrote it again"
        }
    }
}
