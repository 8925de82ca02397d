import Foundation
import Programs
import Testing

/// What must not compile does not: the compiler itself is asked, against the modules of this build.
@Suite struct EdgeTypingTests {
    private static let source = """
        import Jobs

        func whatFits() throws {
            var graph = JobGraph()
            let link = graph.add(Find.self, input: .init(query: "x"))
            let page = graph.add(Fetch.self, from: link)
            let cached = graph.add(Cached.self, input: .init())
            let all = graph.add(Gather.self, from: [page, page])
            graph.add(Gather.self, from: [page.offer, cached.offer])
            graph.add(Keep.self, from: all, input: .init(to: "x"), after: [link.finished, cached.succeeded])
            _ = try graph.submission()
        }

        func whatDoesNotFit(
            graph: inout JobGraph, link: JobGraph.Node<Find>, page: JobGraph.Node<Fetch>, cached: JobGraph.Node<Cached>
        ) {
            graph.add(Fetch.self, from: page)  // error
            graph.add(Fetch.self, from: [link])  // error
            graph.add(Gather.self, from: page)  // error
            graph.add(Gather.self, from: [link])  // error
            graph.add(Gather.self, from: [link.offer])  // error
            graph.add(Gather.self, from: [page, cached])  // error
            graph.add(Find.self, from: link)  // error
            graph.add(Keep.self, from: page, input: Find.Input(query: "x"))  // error
            graph.add(Keep.self, from: page, after: [page])  // error
            graph.add(Fetch.self)  // error
        }

        """

    @Test func compilerRefusesEdgesThatDoNotFit() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "halyard-edges-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary file more does no harm
        let file = folder.appending(path: "Edges.swift")
        try Self.source.write(to: file, atomically: true, encoding: .utf8)

        let output = try await typecheck([testKinds, file])
        let prefix = file.path + ":"
        let refused = Set(
            output.split(separator: "\n").filter { $0.hasPrefix(prefix) && $0.contains(": error: ") }
                .compactMap { Int($0.dropFirst(prefix.count).prefix { $0.isNumber }) })
        let expected = Self.source.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .filter { $0.element.hasSuffix("// error") }.map { $0.offset + 1 }
        #expect(expected.count == 10)
        #expect(refused == Set(expected), "\(output)")
        let elsewhere = output.split(separator: "\n").filter { $0.contains(": error: ") && !$0.hasPrefix(prefix) }
        #expect(elsewhere == [])
    }

    private var testKinds: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "TestKinds.swift")
    }

    private func typecheck(_ files: [URL]) async throws -> String {
        // The modules lie beside the test bundle, which is this program.
        let program = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let modules = program.deletingLastPathComponent().appending(path: "Modules")
        try #require(FileManager.default.fileExists(atPath: modules.path), "no modules at \(modules.path)")
        return try await ChildProcess.run(
            "swiftc",
            [
                "-typecheck", "-swift-version", "6", "-diagnostic-style", "llvm", "-parse-as-library", "-I",
                modules.path,
            ] + files.map(\.path), environment: ProcessInfo.processInfo.environment
        ).errors
    }
}
