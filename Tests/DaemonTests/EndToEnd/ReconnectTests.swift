import Foundation
import Glibc
import Programs
import Testing

/// Who follows jobs outlives the daemon.
@Suite(.serialized) struct ReconnectTests {
    private func follow(_ bed: TestBed, _ arguments: String...) throws -> ChildProcess {
        try bed.spawn(
            binary("halyard"), arguments,
            environment: ["HALYARD_SOCKET": bed.socket, "HALYARD_DATABASE": bed.database, "TZ": "UTC"])
    }

    /// Kills a daemon while jobs run and are followed, then starts it again.
    private func followers(of bed: TestBed) async throws -> [(verb: String, ended: ChildProcess)] {
        var followers: [(verb: String, ended: ChildProcess)] = []
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/page/1", "/gate/2"])
            await bed.server.requests.first { $0.hasSuffix("/gate/2") }
            followers = [
                ("wait", try follow(bed, "wait", "1", "2")), ("watch", try follow(bed, "watch", "2")),
                ("json", try follow(bed, "watch", "2", "--json")), ("all", try follow(bed, "watch")),
                (
                    "enqueue",
                    try follow(bed, "enqueue", "visit", "\(bed.server.site)/gate/3", "--wait", "--key", "third")
                ),
            ]
            await bed.server.requests.first { $0.hasSuffix("/gate/3") }
            // Each has told what runs, and so waits for more; the last one has its answer, which the job does not wait for.
            await followers[0].ended.output.first(containing: "succeeded")
            for follower in followers[1...3] { await follower.ended.output.first(containing: "running") }
            await followers[4].ended.output.first { $0 == "3" }
        }
        for follower in followers { await follower.ended.errors.first(containing: "the daemon stopped") }
        bed.server.openGate()
        try await bed.withDaemon { _ in
            for follower in followers where follower.verb != "all" { _ = await follower.ended.waitForEnd() }
            await followers[3].ended.output.first { $0.contains("job 3") && $0.contains("succeeded") }
            await followers[3].ended.output.first { $0.contains("job 2") && $0.contains("succeeded") }
        }
        return followers
    }

    @Test(.timeLimit(.minutes(2)))
    func followersGoOnWhenTheDaemonIsBack() async throws {
        let bed = try TestBed()
        let followers = try await followers(of: bed)
        for (verb, process) in followers {
            // The one that follows everything has seen the second daemon go, too.
            if verb != "all" {
                #expect(
                    process.errors.all.filter { $0.contains("the daemon stopped") }.count == 1,
                    "\(verb): \(process.errors.text)")
            }
            #expect(process.errors.all.contains("halyard: the daemon is running again"), "\(verb)")
            if verb != "all" { #expect(await process.waitForEnd() == .exited(0), "\(verb): \(process.errors.text)") }
            let finals = process.output.all.filter { $0.contains("succeeded") && !$0.contains("\"definition\"") }
            switch verb {
            case "wait": #expect(finals == ["1  visit  ✓ succeeded", "2  visit  ✓ succeeded"])
            case "watch": #expect(finals.count == 1)
            case "enqueue": #expect(process.output.all == ["3", "3  visit  ✓ succeeded"])
            case "json":
                #expect(process.output.all.filter { $0.contains(#""state":"succeeded""#) }.count == 1)
                #expect(process.output.all.last == #"{"event":"final"}"#)
            default: #expect(process.output.all.contains { $0.contains("some changes were left out") })
            }
        }
        await followers[3].ended.stop()
        #expect(try await bed.ask("SELECT count(*) FROM job") == "3")
    }

    /// A folder like /run/halyard goes with the daemon and comes back with it.
    @Test(.timeLimit(.minutes(2)))
    func aFolderThatComesBackIsSeen() async throws {
        let bed = try TestBed()
        let folder = bed.folder.path + "/run"
        #expect(mkdir(folder, 0o755) == 0)
        try bed.configure()
        let configured = try String(contentsOfFile: bed.configuration, encoding: .utf8)
        try bed.folder.write(
            configured.replacing("socket: \(bed.socket)", with: "socket: \(folder)/deep/halyard.sock"),
            to: "halyard.yaml")
        #expect(mkdir(folder + "/deep", 0o755) == 0)
        let environment = ["HALYARD_SOCKET": "\(folder)/deep/halyard.sock", "HALYARD_DATABASE": bed.database]
        var waiting: ChildProcess?
        try await bed.withDaemon { _ in
            let added = try await ChildProcess.run(
                binary("halyard"), ["enqueue", "visit", "\(bed.server.site)/gate/1"], environment: environment)
            #expect(added.status == .exited(0))
            waiting = try bed.spawn(binary("halyard"), ["watch", "1"], environment: environment)
            await waiting?.output.first(containing: "running")
        }
        await waiting?.errors.first(containing: "the daemon stopped")
        let removed = try await ChildProcess.run("rm", ["-r", folder])
        #expect(removed.status == .exited(0))
        bed.server.openGate()
        #expect(mkdir(folder, 0o755) == 0)
        #expect(mkdir(folder + "/deep", 0o755) == 0)
        try await bed.withDaemon { _ in
            #expect(await waiting?.waitForEnd() == .exited(0), "\(waiting?.errors.text ?? "")")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func patienceEnds() async throws {
        let bed = try TestBed()
        var followers: [ChildProcess] = []
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/gate/1"])
            followers = try [
                follow(bed, "watch", "1", "--reconnect", "0s"), follow(bed, "watch", "1", "--reconnect", "100ms"),
            ]
            for follower in followers { await follower.output.first(containing: "running") }
        }
        for follower in followers { #expect(await follower.waitForEnd() == .exited(75)) }
        #expect(!followers[0].errors.text.contains("the daemon stopped"))
        #expect(followers[1].errors.text.contains("It did not come back within 100ms. The jobs are stored; wait again"))
    }

    /// What ends last in a drain is final before the daemon can tell; several times, since it is a race.
    @Test(.timeLimit(.minutes(2)), arguments: 1...4)
    func whatIsFinalNeedsNoDaemon(round: Int) async throws {
        let bed = try TestBed()
        var followers: [ChildProcess] = []
        try await bed.withDaemon { daemon in
            try await bed.enqueueVisits(["/gate/1"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            followers = try [
                follow(bed, "watch", "1"), follow(bed, "watch", "1", "--json", "--reconnect", "0s"),
                follow(bed, "enqueue", "visit", "\(bed.server.site)/gate/2", "--wait"),
            ]
            for follower in followers[...1] { await follower.output.first(containing: "running") }
            await bed.server.requests.first { $0.hasSuffix("/gate/2") }
            await followers[2].output.first { $0 == "2" }
            daemon.signal(SIGTERM)
            bed.server.openGate()
            #expect(await daemon.waitForEnd() == .exited(0))
        }
        for follower in followers {
            #expect(await follower.waitForEnd() == .exited(0), "\(follower.errors.text)")
            #expect(!follower.errors.text.contains("the daemon stopped"), "\(follower.errors.text)")
        }
        #expect(followers[2].output.all == ["2", "2  visit  ✓ succeeded"])
    }

    /// Who follows everything learns it, too, also while no daemon comes back.
    @Test(.timeLimit(.minutes(2)), arguments: 1...4)
    func whatEndsInADrainIsTold(round: Int) async throws {
        let bed = try TestBed()
        var followers: [ChildProcess] = []
        try await bed.withDaemon { daemon in
            try await bed.enqueueVisits(["/gate/1"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            followers = try [
                follow(bed, "watch", "--reconnect", "0s"), follow(bed, "watch", "--reconnect", "100ms"),
            ]
            for follower in followers { await follower.output.first(containing: "running") }
            daemon.signal(SIGTERM)
            bed.server.openGate()
            #expect(await daemon.waitForEnd() == .exited(0))
        }
        for follower in followers {
            #expect(await follower.waitForEnd() == .exited(75), "\(follower.errors.text)")
            #expect(follower.output.all.filter { $0.contains("succeeded") }.count == 1, "\(follower.output.text)")
        }
    }

    /// A limit counts the gap, too.
    @Test(.timeLimit(.minutes(1)))
    func theTimeRunsOutWhileTheDaemonIsGone() async throws {
        let bed = try TestBed()
        var waiting: ChildProcess?
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/page/1", "/gate/2"])
            waiting = try follow(bed, "wait", "1", "2", "--timeout", "3s")
            await waiting?.output.first(containing: "succeeded")
        }
        #expect(await waiting?.waitForEnd() == .exited(4))
        #expect(waiting?.errors.text.contains("--timeout passed") == true)
    }
}
