import Foundation
import Glibc
import Programs
import Synchronization
import Testing

/// The examples of programs, as they are printed in `config/definitions.yaml`, in the documentation and in the README.
@Suite(.serialized) struct ExampleTests {
    /// The tools that are missing on this machine.
    private static let missing = ["convert", "curl", "gzip", "jq", "sh", "systemd-notify"].filter {
        access("/usr/bin/\($0)", X_OK) != 0
    }
    private static let reason: Comment = "these are not in /usr/bin: \(missing.joined(separator: ", "))"
    private static let hasTools = missing.isEmpty
    /// The examples with pictures need more than a minimal Debian has.
    private static let hasFewTools = missing.allSatisfy { ["convert", "curl", "jq"].contains($0) }

    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(repository)/\(path)", encoding: .utf8)
    }

    /// The file with all its examples. `#` with a space begins a comment.
    private static func definitions() throws -> String {
        try text("config/definitions.yaml").split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let isExample = line.hasPrefix("  #") && !(line.dropFirst(3).first == " " && line.dropFirst(4).first != " ")
            return isExample ? "  " + line.dropFirst(3) : String(line)
        }.joined(separator: "\n")
    }

    /// The YAML blocks of a page, without the keys `definitions` and `graphs`.
    private static func blocks(of page: String) throws -> [String] {
        var blocks: [String] = []
        var block: [Substring]?
        for line in try text(page).split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```yaml" {
                block = []
            } else if line == "```" {
                if let block { blocks.append(block.joined(separator: "\n")) }
                block = nil
            } else {
                block?.append(line)
            }
        }
        return blocks.flatMap { block in
            let parts = "\n\(block)".components(separatedBy: "\ngraphs:\n")
            return parts.flatMap { $0.components(separatedBy: "definitions:\n") }
                .map { $0.trimmingCharacters(in: .newlines) }.filter {
                    $0.hasPrefix("  ") && $0.contains("  kind:") || $0.contains("nodes:")
                }
        }
    }

    @Test(arguments: [("Sources/Daemon/Daemon.docc/RunningPrograms.md", 6), ("README.md", 1)])
    func everyPageHasTheExamplesOfTheFile(page: String, count: Int) throws {
        let (file, blocks) = (try Self.definitions(), try Self.blocks(of: page))
        // Two definitions in one block stand together in the file as well.
        #expect(
            blocks.reduce(0) { $0 + $1.split(separator: "\n").count { $0.hasPrefix("  ") && !$0.hasPrefix("   ") } }
                == count)
        for block in blocks { #expect(file.contains(block + "\n"), "\(block)") }
    }

    /// The definitions without some, which end at the next line that is not indented further.
    private static func definitions(without names: [String]) throws -> String {
        var isLeftOut = false
        return try definitions().split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            if !line.hasPrefix("   ") { isLeftOut = names.contains { line == "  \($0):" } }
            return !isLeftOut
        }.joined(separator: "\n")
    }

    /// Runs `body` with a daemon that has all examples, except those whose executable is missing.
    private func withExamples(_ body: (TestBed) async throws -> Void) async throws {
        let bed = try TestBed()
        try bed.configure("program: {roots: [/usr/bin]}\n")
        let pictures = ["thumbnail", "small-picture", "save-picture"]
        let leftOut = Self.missing.contains("convert") ? pictures : []
        try await bed.withDaemon { _ in
            let applied = try await bed.halyard(
                "definitions", "apply",
                try bed.folder.write(try Self.definitions(without: leftOut), to: "examples.yaml"))
            try #require(applied.status == .exited(0), "\(applied.errors)")
            for name in pictures + ["fetch-picture", "compress", "count-files"] where !leftOut.contains(name) {
                #expect(applied.output.contains(name), "\(applied.output)")
            }
            try await body(bed)
        }
    }

    private func size(of picture: String) async throws -> String {
        let found = try await ChildProcess.run("/usr/bin/identify", ["-format", "%m %wx%h", picture])
        try #require(found.status == .exited(0), "\(found.errors)")
        return found.output
    }

    /// A red picture of 640 by 480.
    private func picture(_ bed: TestBed) async throws -> String {
        let path = bed.folder.path + "/red.jpg"
        let made = try await ChildProcess.run("/usr/bin/convert", ["-size", "640x480", "xc:red", path])
        try #require(made.status == .exited(0), "\(made.errors)")
        return path
    }

    @Test(.enabled(if: hasTools, reason), .timeLimit(.minutes(2)))
    func aPictureThatWasHandedOverBecomesSmall() async throws {
        try await withExamples { bed in
            let sent = try await bed.halyard("enqueue", "thumbnail", try await picture(bed), "--copy", "--wait")
            try #require(sent.status == .exited(0), "\(sent.errors)")
            let small = bed.folder.path + "/small"
            #expect(try await bed.halyard("result", "1", "--file", small).status == .exited(0))
            #expect(try await size(of: small) == "PNG 320x240")
            let text = try bed.folder.write("no picture", to: "text")
            _ = try await bed.halyard("enqueue", "thumbnail", text, "--copy", "--wait")
            #expect(try await bed.ask("SELECT error ->> 'code' FROM jobs WHERE job = 2") == "bad_image")
        }
    }

    @Test(.enabled(if: hasTools, reason), .timeLimit(.minutes(2)))
    func thePictureOfAPageIsStored() async throws {
        try await withExamples { bed in
            let content = [UInt8](try Data(contentsOf: URL(filePath: try await picture(bed))))
            let site = bed.server.site
            let page = "<html><head><title>t</title><meta property='og:image' content='\(site)/red.jpg'></head></html>"
            bed.server.documents.withLock { documents in
                documents["/story"] = ("text/html", Array(page.utf8))
                documents["/red.jpg"] = ("image/jpeg", content)
            }
            try await bed.enqueue("save-picture", site + "/story", site + "/inbox/small.png")
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT count(*) FROM jobs WHERE state = 'succeeded'") == "4")
            let small = bed.folder.path + "/small"
            #expect(try await bed.halyard("result", "3", "--file", small).status == .exited(0))
            #expect(try await size(of: small) == "PNG 320x240")
            let bytes = try Data(contentsOf: URL(filePath: small)).count
            #expect(bed.server.received(at: "/inbox/small.png") == bytes)
            #expect(bed.server.headers.all.contains { $0.lowercased() == "content-type: image/png" })
            // A page without a picture fails for this reason, and nothing is sent.
            try await bed.enqueue("save-picture", site + "/page/1", site + "/inbox/none.png")
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT error ->> 'code' FROM jobs WHERE job = 6") == "no_picture")
            #expect(bed.server.received(at: "/inbox/none.png") == nil)
        }
    }

    @Test(.enabled(if: hasFewTools, reason), .timeLimit(.minutes(2)))
    func longWorkReportsItsProgress() async throws {
        try await withExamples { bed in
            let text = String(repeating: "0123456789abcde\n", count: 160_000)
            let sent = try await bed.halyard(
                "enqueue", "compress", try bed.folder.write(text, to: "a long text"), "--copy", "--wait")
            try #require(sent.status == .exited(0), "\(sent.errors)")
            let packed = bed.folder.path + "/packed.gz"
            #expect(try await bed.halyard("result", "1", "--file", packed).status == .exited(0))
            let unpacked = try await ChildProcess.run("/usr/bin/gzip", ["-cd", packed])
            #expect(unpacked.output + "\n" == text)
            let log = try await bed.halyard("log", "1").output.split(separator: "\n").map(String.init)
            #expect(log == ["status: 40 %", "status: 81 %", "status: 100 %"])
        }
    }

    @Test(.enabled(if: hasFewTools, reason), .timeLimit(.minutes(2)))
    func aScriptSaysWhatItDoes() async throws {
        try await withExamples { bed in
            let folder = bed.folder.path + "/some files"
            #expect(mkdir(folder, 0o700) == 0)
            for name in ["a", "b", "c"] { try bed.folder.write(name, to: "some files/\(name)") }
            let counted = try await bed.halyard("enqueue", "count-files", folder, "--wait")
            try #require(counted.status == .exited(0), "\(counted.errors)")
            #expect(try await bed.ask("SELECT value ->> '$' FROM results") == "3")
            let log = try await bed.halyard("log", "1").output
            #expect(log.contains("status: looking into \(folder)"))
            #expect(log.contains("status: found 3 files"))
        }
    }
}
