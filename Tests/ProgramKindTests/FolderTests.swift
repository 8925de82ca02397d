import Foundation
import Glibc
import Programs
import Testing

@testable import ProgramKind

/// The files and processes that programs leave are removed.
@Suite struct FolderTests {
    let bench: Bench

    init() throws { bench = try Bench() }

    @Test func anyTreeIsRemoved() async throws {
        let path = bench.work + "/1-1"
        #expect(mkdir(path, 0o700) == 0)
        // Deeper than a path can be long, with a name that is not UTF-8, unreadable folders, and links to elsewhere.
        let script = #"""
            umask 0; echo kept > ../outside; ln -s ../outside link; ln -s .. up
            printf x > "$(printf 'a\377b')"; mkdir -p closed/inside; touch closed/inside/file; chmod 0 closed/inside closed
            i=0; while [ $i -lt 200 ]; do
                mkdir ddddddddddddddddddddddddddddddddddddddddddddddddd; cd -P ddddddddddddddddddddddddddddddddddddddddddddddddd; i=$((i+1))
            done
            """#
        let shell = try await ChildProcess.run("/bin/sh", ["-c", "cd \(path) && \(script)"])
        #expect(shell.status == .exited(0), "\(shell.errors)")
        try FolderRemoval(in: bench.work).remove("1-1")
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.work) == ["outside"])
    }

    @Test func theNextStartRemovesWhatAKilledDaemonHasLeft() async throws {
        await bench.host.close()
        let path = bench.work + "/7-1"
        #expect(mkdir(path, 0o700) == 0)
        let left = try ChildProcess("/bin/sleep", ["1000"], environment: ["HOME": path])
        let other = try ChildProcess("/bin/sleep", ["1000"], environment: ["HOME": bench.work])
        // Somebody may name a folder with other content.
        try "x".write(toFile: bench.work + "/other", atomically: true, encoding: .utf8)
        let host = ProgramHost(ProgramSettings(folder: bench.work), files: nil, logger: bench.host.logger)
        try host.prepare(adoptsOrphans: false)
        #expect(await left.waitForEnd() == .killed(by: SIGKILL))
        #expect(kill(other.pid, 0) == 0)
        kill(other.pid, SIGKILL)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.work) == ["other"])
        await host.close()
    }

    @Test func manyFilesAndFoldersAreRemoved() async throws {
        let path = bench.work + "/1-1"
        #expect(mkdir(path, 0o700) == 0)
        // More folders than are moved at a time.
        let script = "i=0; while [ $i -lt 2100 ]; do mkdir -p $i/x; : > $i/y; : > f$i; i=$((i+1)); done"
        let shell = try await ChildProcess.run("/bin/bash", ["-c", "cd \(path) && \(script)"])
        #expect(shell.status == .exited(0), "\(shell.errors)")
        try FolderRemoval(in: bench.work).remove("1-1")
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.work) == [])
        // A folder that has vanished is removed.
        try FolderRemoval(in: bench.work).remove("1-1")
    }

    @Test(.enabled(if: geteuid() == 0, "only root may mount a disk"))
    func aLeftoverThatCannotBeRemovedDoesNotKeepTheDaemonFromStarting() async throws {
        await bench.host.close()
        let mounted = bench.work + "/7-1"
        #expect(mkdir(mounted, 0o700) == 0)
        #expect(mkdir(bench.work + "/8-1", 0o700) == 0)
        let mount = try await ChildProcess.run("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", mounted])
        // A container may forbid it.
        guard mount.status == .exited(0) else { return }
        let host = ProgramHost(ProgramSettings(folder: bench.work), files: nil, logger: bench.host.logger)
        #expect(throws: Never.self) { try host.prepare(adoptsOrphans: false) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.work) == ["7-1"])
        let unmount = try await ChildProcess.run("umount", [mounted])
        #expect(unmount.status == .exited(0), "\(unmount.errors)")
        await host.close()
    }

    @Test func twoDaemonsCannotShareAFolder() throws {
        let other = ProgramHost(ProgramSettings(folder: bench.work), files: nil, logger: bench.host.logger)
        #expect(throws: FileFailure.self) { try other.prepare(adoptsOrphans: false) }
    }
}
