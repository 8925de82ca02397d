import ControlProtocol
import Foundation
import Jobs
import OperationTypes
import SQLiteStore
import Testing

@testable import Commands

/// Files and folders are uploaded as one graph.
@Suite struct UploadTests {
    // MARK: Addresses

    @Test(arguments: [
        // Two folders that contain the same name, and two files with the same name.
        (["cam1", "cam2"], "IMG_1.jpg"), (["cam1/IMG_1.jpg", "cam2/IMG_1.jpg"], "IMG_1.jpg"),
        (["cam1/IMG_1.jpg", "cam1"], "IMG_1.jpg"),
    ])
    func twoFilesDoNotGoToOneAddress(paths: [String], name: String) async throws {
        let shop = try await Self.shop(files: ["cam1/IMG_1.jpg", "cam1/IMG_2.jpg", "cam2/IMG_1.jpg"])
        for copying in [[], ["--copy"]] {
            try await RunningDaemon.with(shop) { daemon in
                let run = try await shop.run(
                    ["upload"] + paths.map(shop.path) + ["--to", "http://h/in/{path}", "--definition", "send"] + copying
                )
                #expect(run.code == .data)
                let last = paths[1].hasSuffix(name) ? paths[1] : paths[1] + "/" + name
                #expect(
                    run.errors
                        == "halyard: DIRECTORY/cam1/\(name) and DIRECTORY/\(last) would both be uploaded to http://h/in/\(name). Name the folder that contains both, or upload each to its own address.\n"
                )
                #expect(try await daemon.store.jobs(JobFilter()).isEmpty)
                #expect(try shop.spooled().isEmpty)
            }
        }
    }

    @Test func withoutADaemonTheFilesAreSaidToBeReadLater() async throws {
        let shop = try await Self.shop(files: ["a"])
        let run = try await shop.run("upload", shop.path("a"), "--to", "http://h/", "--definition", "send")
        #expect(run.code == .success)
        #expect(run.errors.contains("the daemon will read the files itself; they must be inside its roots"))
    }

    @Test func withoutAMarkTheMessageAsksForIt() async throws {
        let shop = try await Self.shop(files: ["a", "b"])
        let run = try await shop.run(
            "upload", shop.path("a"), shop.path("b"), "--to", "http://h/", "--definition", "send")
        #expect(run.code == .data)
        #expect(
            run.errors
                == "halyard: DIRECTORY/a and DIRECTORY/b would both be uploaded to http://h/. Write {path} into it.\n")
    }

    @Test(arguments: [
        (["--set", "method=POST"], true), (["--set", "protocol=plain", "--set", "method=POST"], true),
        (["--set", "protocol=tus"], true), (["--set", "protocol=form"], true), (["--set", "method=PUT"], false),
        // `method` affects plain uploads only.
        (["--set", "protocol=s3", "--set", "method=POST"], false),
        // The definition's input counts, too, unless the command line overrides it.
        (["--definition", "post"], true), (["--definition", "post", "--set", "method=PUT"], false),
    ])
    func oneAddressIsEnoughWhereTheServerGivesEachItsOwn(options: [String], isEnough: Bool) async throws {
        let shop = try await Self.shop(files: ["a", "b"])
        let definition = options.contains("--definition") ? [] : ["--definition", "send"]
        let run = try await shop.run(
            ["upload", shop.path("a"), shop.path("b"), "--to", "http://h/in"] + definition + options)
        #expect(run.code == (isEnough ? .success : .data), "\(run.errors)")
        #expect(run.output == (isEnough ? "1\n2\n" : ""))
    }

    // MARK: The spool

    @Test(arguments: [1, 3])
    func onlyTheFilesOutsideTheRootsAreCopied(count: Int) async throws {
        let inside = (1...count).map { "roots/\($0)" }
        let shop = try await Self.shop(files: inside + ["outside/4", "outside/5"])
        try await RunningDaemon.with(shop) { daemon in
            let run = try await shop.run(
                ["upload"] + inside.map(shop.path) + [shop.path("outside")]
                    + ["--to", "http://h/{path}", "--definition", "send", "--key", "once"])
            #expect(run.code == .success, "\(run.errors)")
            let files = try await daemon.files()
            #expect(Array(files.prefix(count)) == inside.map(shop.path))
            #expect(files.dropFirst(count).map { $0.hasPrefix("spool:") } == [true, true])
            #expect(files.count == count + 2)
            #expect(try shop.spooled().count == 2)
        }
    }

    @Test func aLoneFileOutsideIsCopied() async throws {
        let shop = try await Self.shop(files: ["a"])
        try await RunningDaemon.with(shop) { daemon in
            let run = try await shop.run("upload", shop.path("a"), "--to", "http://h/a", "--definition", "send")
            #expect(run.code == .success, "\(run.errors)")
            #expect(try await daemon.files().map { $0.hasPrefix("spool:") } == [true])
        }
    }

    @Test func copyingThatStopsTellsWhatStays() async throws {
        let shop = try await Self.shop(files: ["a/1", "a/2"])
        _ = try shop.file("a/3", String(repeating: "x", count: 2 << 20))
        try await RunningDaemon.with(shop) { daemon in
            let run = try await shop.run("upload", shop.path("a"), "--to", "http://h/{path}", "--definition", "send")
            #expect(run.code == .data)
            #expect(run.errors.contains("The file exceeds the limit of the spool"))
            #expect(
                run.errors.hasSuffix(
                    "\n  2 files already copied into the spool; files that no job uses are deleted after a day.\n"),
                "\(run.errors)")
            #expect(try await daemon.store.jobs(JobFilter()).isEmpty)
        }
    }

    @Test func aRefusalAfterCopyingTellsWhatStays() async throws {
        let shop = try await Self.shop(files: ["a", "b"])
        try await RunningDaemon.with(shop) { daemon in
            func upload(_ name: String) async throws -> Workshop.Run {
                try await shop.run(
                    "upload", shop.path(name), "--to", "http://h/{path}", "--definition", "send", "--key", "one")
            }
            #expect(try await upload("a").code == .success)
            let run = try await upload("b")
            #expect(run.code == .data)
            #expect(run.errors.contains("was used for another request"))
            #expect(
                run.errors.hasSuffix(
                    "\n  1 file already copied into the spool; files that no job uses are deleted after a day.\n"))
            #expect(try await daemon.store.jobs(JobFilter()).count == 1)
        }
    }

    // MARK: Names

    @Test func aNameThatIsNotTextIsLeftOut() async throws {
        let shop = try await Self.shop(files: ["a/1"])
        let name = Array(shop.path("a").utf8) + [0x2F, 0x66, 0xE9, 0]
        let descriptor = name.withUnsafeBytes { bytes in
            open(bytes.assumingMemoryBound(to: CChar.self).baseAddress!, O_CREAT | O_WRONLY, 0o600)
        }
        try #require(descriptor >= 0)
        close(descriptor)
        let run = try await shop.run("upload", shop.path("a"), "--to", "http://h/{path}", "--definition", "send")
        #expect(run.code == .success)
        #expect(run.output == "1\n")
        #expect(
            run.errors.hasPrefix("halyard: 1 name left out:\n  DIRECTORY/a/f\u{FFFD} (not UTF-8)\n"), "\(run.errors)")
    }

    @Test func whatIsLeftOutIsNamed() async throws {
        let shop = try await Self.shop(files: ["a/1"])
        for number in 10...21 { try #require(symlink("1", shop.path("a/\(number)")) == 0) }
        try #require(mkfifo(shop.path("a/0"), 0o600) == 0)
        let run = try await shop.run("upload", shop.path("a"), "--to", "http://h/{path}", "--definition", "send")
        #expect(run.code == .success)
        #expect(run.output == "1\n")
        let names = (10...18).map { "  DIRECTORY/a/\($0) (a link)\n" }.joined()
        #expect(
            run.errors.hasPrefix(
                "halyard: 13 names left out:\n  DIRECTORY/a/0 (a pipe)\n\(names)  and 3 more\n"), "\(run.errors)")
    }

    /// A daemon sends no later message whose output would also flush the names.
    @Test func whatIsLeftOutIsNamedWithADaemon() async throws {
        let shop = try await Self.shop(files: ["roots/1"])
        try #require(symlink("1", shop.path("roots/2\u{1B}[2J")) == 0)
        try await RunningDaemon.with(shop) { _ in
            let run = try await shop.run(
                "upload", shop.path("roots"), "--to", "http://h/{path}", "--definition", "send")
            #expect(run.code == .success)
            #expect(run.errors.hasPrefix("halyard: 1 name left out:\n  DIRECTORY/roots/2"), "\(run.errors)")
            #expect(run.errors.hasSuffix("[2J (a link)\n") && !run.errors.contains("\u{1B}"), "\(run.errors)")
        }
    }

    @Test func standardInputIsOneOfTheFiles() async throws {
        let shop = try await Self.shop(files: ["roots/1", "outside/2"])
        try await RunningDaemon.with(shop) { daemon in
            func upload(_ arguments: String..., to: String) async throws -> Workshop.Run {
                try await shop.run(
                    ["upload"] + arguments + ["--to", to, "--definition", "send", "--set", "method=POST"],
                    input: "piped")
            }
            let alone = try await upload("-", to: "http://h/in")
            #expect(alone.code == .success, "\(alone.errors)")
            let three = try await upload(shop.path("roots/1"), "-", shop.path("outside/2"), to: "http://h/in")
            #expect(three.code == .success, "\(three.errors)")
            let files = try await daemon.files()
            #expect(files.map { $0.hasPrefix("spool:") } == [true, false, true, true])
            #expect(files[3].hasSuffix("/2"))
            let contents = try shop.spooled().map {
                try String(contentsOfFile: shop.path("spool/\($0)"), encoding: .utf8)
            }
            #expect(contents.sorted() == ["outside/2", "piped", "piped"])
            #expect(try await upload("-", to: "http://h/{path}").code == .usage)
            #expect(try await upload("-", "-", to: "http://h/in").code == .usage)
        }
        #expect(
            try await shop.run("upload", "-", "--to", "http://h/in", "--definition", "send", input: "x").code
                == .unavailable)
    }

    @Test(arguments: ["", "/"])
    func aNamedLinkIsWhatItLeadsTo(end: String) async throws {
        let shop = try await Self.shop(files: ["roots/real/1"])
        try #require(symlink("real", shop.path("roots/link")) == 0)
        try #require(symlink("real/1", shop.path("roots/first")) == 0)
        try await RunningDaemon.with(shop) { daemon in
            let run = try await shop.run(
                "upload", shop.path("roots/link") + end, shop.path("roots/first"), "--to", "http://h/{path}",
                "--definition", "send")
            #expect(run.code == .success, "\(run.errors)")
            let real = try #require(realpath(shop.path("roots/real/1"), nil))
            defer { free(real) }
            #expect(
                run.errors.contains("halyard: DIRECTORY/roots/first is a link; uploading "), "\(run.errors)")
            #expect(try await daemon.files() == [String(cString: real), String(cString: real)])
            #expect(try await daemon.inputs("to") == ["http://h/1", "http://h/first"])
        }
    }

    /// The daemon accepts no `..`, so the command line sends the path to which it leads.
    @Test func aPathThroughAParentIsResolved() async throws {
        let shop = try await Self.shop(files: ["roots/real/1"])
        try FileManager.default.createDirectory(atPath: shop.path("roots/other"), withIntermediateDirectories: true)
        try #require(symlink("other", shop.path("roots/link")) == 0)
        try await RunningDaemon.with(shop) { daemon in
            let run = try await shop.run(
                "upload", shop.path("roots/link/../real/1"), "--to", "http://h/in", "--definition", "send")
            #expect(run.code == .success, "\(run.errors)")
            let real = try #require(realpath(shop.path("roots/real/1"), nil))
            defer { free(real) }
            #expect(try await daemon.files() == [String(cString: real)])
        }
    }

    /// A workshop with definitions of a kind with the fields of `upload`; the content of each file is its own name.
    private static func shop(files: [String]) async throws -> Workshop {
        let shop = try await Workshop()
        for file in files {
            let folder = shop.directory.appending(path: file).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            _ = try shop.file(file, file)
        }
        let send = KindDescription(
            name: "send", summary: "", inputType: "I", outputType: "O", accepts: nil, offers: "Receipt",
            fields: [
                InputField("file", .string, summary: ""), InputField("to", .string, isRequired: true, summary: ""),
                InputField("protocol", .string, summary: ""), InputField("method", .string, summary: ""),
            ])
        try await shop.withStore { store in
            try await store.register(Samples.definitions.kinds + [send], now: Samples.now)
            let post = JSONText(trusted: Array(#"{"method":"POST"}"#.utf8))
            try await store.change(
                DefinitionChange(definitions: [
                    Definition(name: "send", kind: "send"), Definition(name: "post", kind: "send", input: post),
                ]), now: Samples.now)
        }
        return shop
    }
}

extension Workshop {
    fileprivate func path(_ name: String) -> String { directory.appending(path: name).path }

    /// Names of the files in the spool.
    fileprivate func spooled() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.appending(path: "spool").path)
    }
}

extension RunningDaemon {
    /// Values of `field` in every job's input, oldest job first.
    fileprivate func inputs(_ field: String) async throws -> [String?] {
        try await store.jobs(JobFilter(order: .oldestFirst))
            .map { JSONObject($0.input ?? .emptyObject)?[field]?.decodedString }
    }

    fileprivate func files() async throws -> [String] { try await inputs("file").map { $0 ?? "" } }
}
