import Foundation

@testable import Web

/// Files like those in `/etc`, in a temporary folder.
final class NamingFiles: Sendable {
    let paths: ResolverFiles.Paths
    private let folder: String

    init(port: UInt16, resolver: String = "nameserver 127.0.0.1\n", hosts: String = "", sources: String = "") throws {
        folder = FileManager.default.temporaryDirectory.path + "/halyard-names-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        paths = ResolverFiles.Paths(
            hosts: folder + "/hosts", resolver: folder + "/resolv.conf", sources: folder + "/nsswitch.conf", port: port)
        try write(resolver, to: paths.resolver)
        try write(hosts, to: paths.hosts)
        try write(sources, to: paths.sources)
    }

    func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }  // A leftover temporary folder is harmless.
}
