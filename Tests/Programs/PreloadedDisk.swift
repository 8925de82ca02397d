import Foundation
import Glibc

/// A disk and a page cache that are preloaded into a program: see Tests/PowerCut/disk.c.
public enum PreloadedDisk {
    public struct Failure: Error, CustomStringConvertible { public let description: String }

    /// Compiled once. The file loses its name when the process ends well, and harms nobody in the temporary folder else.
    private static let library = Task {
        let folder = FileManager.default.temporaryDirectory.path + "/halyard-disk-\(getpid())"
        let source = #filePath.split(separator: "/").dropLast(2).map { "/" + $0 }.joined() + "/PowerCut/disk.c"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let built = try await ChildProcess.run(
            "clang", ["-O1", "-shared", "-fPIC", "-o", folder + "/disk.so", source, "-ldl", "-lpthread"],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""])
        guard built.status == .exited(0) else { throw Failure(description: built.errors) }
        atexit {
            // Else it stays in the temporary folder.
            try? FileManager.default.removeItem(
                atPath: FileManager.default.temporaryDirectory.path + "/halyard-disk-\(getpid())")
        }
        return folder + "/disk.so"
    }

    /// For a program that uses the database.
    ///
    /// - Parameter state: A directory, in which the disk stays when the program ends.
    public static func environment(of database: String, state: String) async throws -> [String: String] {
        [
            "LD_PRELOAD": try await library.value, "HALYARD_DISK": state, "HALYARD_DISK_DATABASE": database,
        ]
    }
}
