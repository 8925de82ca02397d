import Foundation
import Glibc

/// A simulated disk and page cache that is preloaded into a program: see Tests/PowerCut/disk.c.
public enum PreloadedDisk {
    public struct Failure: Error, CustomStringConvertible { public let description: String }

    /// The library, compiled once. The file is deleted when the process ends normally; otherwise it is harmless in the
    /// temporary folder.
    private static let library = Task {
        let folder = FileManager.default.temporaryDirectory.path + "/halyard-disk-\(getpid())"
        let source = #filePath.split(separator: "/").dropLast(2).map { "/" + $0 }.joined() + "/PowerCut/disk.c"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let built = try await ChildProcess.run(
            "clang", ["-O1", "-shared", "-fPIC", "-o", folder + "/disk.so", source, "-ldl", "-lpthread"],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""])
        guard built.status == .exited(0) else { throw Failure(description: built.errors) }
        atexit {
            // Losing the error is harmless: the file stays in the temporary folder.
            try? FileManager.default.removeItem(
                atPath: FileManager.default.temporaryDirectory.path + "/halyard-disk-\(getpid())")
        }
        return folder + "/disk.so"
    }

    /// The environment of a program that uses the database.
    ///
    /// - Parameter state: The directory of the disk, which remains when the program ends.
    public static func environment(of database: String, state: String) async throws -> [String: String] {
        [
            "LD_PRELOAD": try await library.value, "HALYARD_DISK": state, "HALYARD_DISK_DATABASE": database,
        ]
    }
}
