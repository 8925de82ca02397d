import CLinux
import Foundation
import Glibc
import Jobs
import OperationTypes
import Processes
import Testing

@testable import ProgramKind

/// Only files that nobody else can change are executed.
@Suite struct ExecutableTests {
    /// A folder whose path only root and this user can change; nil if this machine has none for tests.
    static let safe: String? = [NSTemporaryDirectory(), FileManager.default.currentDirectoryPath, NSHomeDirectory()]
        .compactMap { path in
            guard let real = realpath(path, nil) else { return nil }
            defer { free(real) }
            return String(cString: real)
        }.first(where: isSafe)

    private static func isSafe(_ path: String) -> Bool {
        var facts = stat()
        var folder = path
        while true {
            guard stat(folder.isEmpty ? "/" : folder, &facts) == 0, facts.st_mode & 0o022 == 0,
                facts.st_uid == 0 || facts.st_uid == geteuid()
            else { return false }
            guard !folder.isEmpty, let slash = folder.lastIndex(of: "/") else { return true }
            folder = String(folder[..<slash])
        }
    }

    /// A folder with a script, and its removal.
    final class Folder: Sendable {
        let path: String
        var file: String { "\(path)/bin/tool" }

        init(_ script: String = "#!/bin/sh\necho old\n") throws {
            path = try #require(ExecutableTests.safe) + "/executable-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: path + "/bin", withIntermediateDirectories: true)
            chmod(path, 0o755)
            chmod(path + "/bin", 0o755)
            try script.write(toFile: path + "/bin/tool", atomically: true, encoding: .utf8)
            chmod(path + "/bin/tool", 0o755)
        }

        // A folder that is left behind fills only the temporary folder.
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func problem(_ name: String = "bin/tool", roots: [String]? = nil) -> ExecutableProblem? {
            do throws(ExecutableProblem) {
                _ = try CheckedExecutable("\(path)/\(name)", roots: roots ?? [path])
                return nil
            } catch {
                return error
            }
        }
    }

    @Test(.enabled(if: safe != nil)) func aPrivateFileIsAccepted() throws {
        #expect(try Folder().problem() == nil)
    }

    @Test(.enabled(if: safe != nil)) func filesThatOthersCanChangeAreRefused() throws {
        let folder = try Folder()
        for mode: mode_t in [0o775, 0o757, 0o1757] {
            for place in [folder.file, folder.path + "/bin", folder.path] {
                chmod(place, mode)
                #expect(folder.problem() == .writable(path: place, mode: UInt32(mode)), "\(place)")
                chmod(place, 0o755)
            }
        }
        #expect(folder.problem() == nil)
    }

    @Test(.enabled(if: safe != nil && geteuid() == 0)) func filesOfOtherUsersAreRefused() throws {
        let folder = try Folder()
        for place in [folder.file, folder.path + "/bin", folder.path] {
            chown(place, 65_534, 0)
            #expect(folder.problem() == .foreignOwner(path: place, owner: 65_534))
            chown(place, 0, 0)
        }
    }

    @Test(.enabled(if: safe != nil)) func filesWithOtherPermissionsAreRefused() throws {
        let folder = try Folder()
        for mode: mode_t in [0o4755, 0o2755] {
            chmod(folder.file, mode)
            #expect(folder.problem() == .setsID(path: folder.file))
        }
        chmod(folder.file, 0o755)
        #expect(folder.problem("bin/tool/x") == .failed(path: folder.file, errno: ENOTDIR))
        chmod(folder.file, 0o644)
        #expect(folder.problem() == .notExecutable(path: folder.file))
        #expect(folder.problem("bin") == .notRegular(path: folder.path + "/bin"))
        #expect(folder.problem("bin/none") == .failed(path: folder.path + "/bin/none", errno: ENOENT))
        mkfifo(folder.path + "/bin/pipe", 0o755)
        #expect(folder.problem("bin/pipe") == .notRegular(path: folder.path + "/bin/pipe"))
    }

    @Test(.enabled(if: safe != nil && geteuid() == 0)) func capabilitiesAreRefused() throws {
        let folder = try Folder()
        // Revision 2 of the attribute, with CAP_NET_RAW.
        let value: [UInt8] = [0, 0, 0, 2, 0, 0x20, 0, 0] + [UInt8](repeating: 0, count: 12)
        guard setxattr(folder.file, "security.capability", value, value.count, 0) == 0 else { return }
        #expect(folder.problem() == .hasCapabilities(path: folder.file))
    }

    @Test(.enabled(if: safe != nil)) func onlyFilesBeneathTheRootsAreAccepted() throws {
        let folder = try Folder()
        #expect(folder.problem(roots: []) == .noRoots)
        #expect(folder.problem(roots: ["/usr/bin"]) == .outsideRoots(path: folder.file, roots: ["/usr/bin"]))
        let wrong = [folder.path + "/bi"]
        #expect(folder.problem(roots: wrong) == .outsideRoots(path: folder.file, roots: wrong))
        let roots = [folder.path + "/bin"]
        let around = folder.path + "/bin/../bin/tool"
        #expect(folder.problem("bin/../bin/tool", roots: roots) == .namesParent(path: around, place: folder.file))
        #expect(
            ExecutableProblem.namesParent(path: around, place: folder.file).description
                == "\(around) contains \"..\", which is not allowed; write the path without it, which is \(folder.file)"
        )
        // A link is followed, and its target must lie beneath a root as well.
        symlink("/bin/sh", folder.path + "/bin/shell")
        let shell = try #require(folder.problem("bin/shell", roots: roots))
        guard case .linkLeadsOutside(folder.path + "/bin/shell", let place, roots) = shell else {
            Issue.record("the target of the link was accepted")
            return
        }
        #expect(
            shell.description.hasPrefix(
                "\(folder.path)/bin/shell leads through a symbolic link to \(place), which is not"))
        symlink("tool", folder.path + "/bin/link")
        #expect(folder.problem("bin/link", roots: roots) == nil)
        // /bin is a link to /usr/bin on many systems.
        symlink("bin", folder.path + "/short")
        let short = folder.problem("short/tool", roots: roots)
        #expect(short == .outsideRoots(path: folder.path + "/short/tool", roots: roots, place: folder.file))
        #expect(
            short?.description.hasSuffix("a symbolic link to \(folder.file), so write \(folder.file) instead") == true)
        symlink("loop", folder.path + "/bin/loop")
        #expect(folder.problem("bin/loop", roots: roots) == .tooManyLinks(path: folder.path + "/bin/loop"))
    }

    @Test(.enabled(if: safe != nil)) func linksThroughFoldersOfOthersAreRefused() throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.path + "/open", withIntermediateDirectories: true)
        symlink("../bin/tool", folder.path + "/open/tool")
        chmod(folder.path + "/open", 0o777)
        #expect(folder.problem("open/tool") == .writable(path: folder.path + "/open", mode: 0o777))
    }

    /// The file that was checked runs, whatever replaces it afterwards.
    @Test(.enabled(if: safe != nil)) func aFileThatIsReplacedAfterTheCheckDoesNotRun() async throws {
        let folder = try Folder()
        let ended = Latch<ProcessEnd>()
        var pipe: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&pipe) == 0)
        do {
            let executable = try CheckedExecutable(folder.file, roots: [folder.path])
            try "#!/bin/sh\necho new\n".write(toFile: folder.path + "/new", atomically: true, encoding: .utf8)
            chmod(folder.path + "/new", 0o755)
            #expect(rename(folder.path + "/new", folder.file) == 0)
            var plan = LaunchPlan(.descriptor(executable.descriptor, name: folder.file))
            plan.descriptors = [1: pipe[1]]
            _ = try plan.launch { ended.open(with: $0) }
            withExtendedLifetime(executable.path) {}
        }
        close(pipe[1])
        #expect(await ended.uncancellableWait().status == .exited(0))
        var buffer = [UInt8](repeating: 0, count: 16)
        #expect(read(pipe[0], &buffer, buffer.count) == 4)
        close(pipe[0])
        #expect(String(decoding: buffer.prefix(4), as: UTF8.self) == "old\n")
    }

    @Test(.enabled(if: safe != nil)) func aScriptWithoutAnInterpreterIsRefused() async throws {
        let folder = try Folder("echo no interpreter\n")
        let bench = try Bench(roots: [folder.path])
        let end = try await bench.run(#""program":["\#(folder.file)"]"#)
        #expect(end.code == "program_refused")
        #expect(end.failure?.failure.message.contains("#!") == true)
        #expect(end.failure?.isRetryable == false)
        // A definition of it is refused as well.
        let refused = try await refusal([folder.path], folder.file, .definition)
        #expect(refused?.contains("let its first line be #!") == true)
        try "".write(toFile: folder.file, atomically: false, encoding: .utf8)
        #expect(folder.problem() == .noInterpreter(path: folder.file))
    }

    @Test(.enabled(if: safe != nil)) func aScriptWhoseInterpreterDoesNotExistIsRefused() throws {
        let folder = try Folder()
        let scripts: [(String, ExecutableProblem?)] = [
            ("#!/bin/sh\necho\n", nil), ("#! /usr/bin/env sh\n", nil),
            ("#!/bin/none -x\n", .missingInterpreter(path: folder.file, interpreter: "/bin/none")),
            ("#!/bin/sh\r\necho\r\n", .carriageReturn(path: folder.file)),
            ("#!\n", .noInterpreter(path: folder.file)),
        ]
        for (text, problem) in scripts {
            try text.write(toFile: folder.file, atomically: false, encoding: .utf8)
            #expect(folder.problem() == problem, "\(text)")
        }
    }

    @Test(.enabled(if: safe != nil)) func aRootItselfIsNoProgram() throws {
        let folder = try Folder()
        #expect(throws: ExecutableProblem.notRegular(path: folder.path)) {
            _ = try CheckedExecutable(folder.path, roots: [folder.path])
        }
    }

    @Test(.enabled(if: safe != nil)) func eachStartChecksAgain() async throws {
        let folder = try Folder()
        let bench = try Bench(roots: [folder.path])
        let definition = #""program":["\#(folder.file)"],"result":"text""#
        #expect(try await bench.run(definition).output == #""old""#)
        chmod(folder.path + "/bin", 0o777)
        let end = try await bench.run(definition)
        #expect(end.code == "program_refused")
        #expect(end.failure?.failure.message.contains("chmod go-w \(folder.path)/bin") == true)
    }

    // MARK: Definitions

    private func refusal(_ roots: [String], _ path: String, _ stage: PlannedInput.Stage, input: String = "{}")
        async throws
        -> String?
    {
        let bench = try Bench(roots: roots)
        let json = #"{"program":["\#(path)","{a}"],"fields":{"a":{}}}"#
        let planned = PlannedInput(
            kind: "program", input: JSONText(trusted: Array(input.utf8)), stage: stage,
            program: try ProgramDefinition(json: JSONText(trusted: Array(json.utf8)), at: []))
        return await bench.host.refusals(of: [planned])[0]?.message
    }

    @Test func definitionsAreCheckedWhenTheyAreApplied() async throws {
        #expect(try await refusal(["/bin"], "/bin/sh", .definition) == nil)
        #expect(try await refusal([], "/bin/sh", .definition)?.contains("set program.roots") == true)
        #expect(try await refusal(["/usr/lib"], "/bin/sh", .definition)?.contains("/bin/sh is not beneath") == true)
        // A job is checked when it runs.
        #expect(try await refusal([], "/bin/sh", .whole) == nil)
        #expect(try await refusal(["/bin"], "/bin/sh", .whole, input: #"{"a":"-x"}"#)?.contains("option") == true)
    }
}
