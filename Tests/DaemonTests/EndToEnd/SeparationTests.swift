import Foundation
import Programs
import Testing

/// The process with the database has no network and no kind's code; the process with the network has no database.
@Suite struct SeparationTests {
    @Test(arguments: [
        ("halyardd", ["5Kinds", "3Web", "5Pages", "6NIOSSL"]),
        ("halyard-worker", ["6SQLite", "11SQLiteStore", "6Runner", "3API", "6Daemon"]),
    ])
    func aProgramContainsNoCodeOfTheOtherSide(program: String, modules: [String]) throws {
        let file = try Data(contentsOf: URL(filePath: binary(program)), options: .mappedIfSafe)
        // Its own modules are there, so the search can find something.
        #expect(file.range(of: Data("$s4Jobs".utf8)) != nil)
        for module in modules { #expect(file.range(of: Data("$s\(module)".utf8)) == nil, "\(module) in \(program)") }
    }

    /// The daemon may load libnettle, which computes the digests of kept files and sends nothing.
    @Test(arguments: [
        ("halyardd", ["libcares", "libbrotli", "libz.so", "libxml2"]),
        ("halyard-worker", ["libsqlite3", "libsystemd", "libyaml"]),
    ])
    func aProgramLoadsNoLibraryOfTheOtherSide(program: String, libraries: [String]) async throws {
        let loaded = try await ChildProcess.run("ldd", [binary(program)]).output
        #expect(loaded.contains("libc.so"))
        for library in libraries { #expect(!loaded.contains(library), "\(loaded)") }
    }
}
