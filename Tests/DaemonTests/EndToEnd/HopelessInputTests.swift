import Glibc
import Programs
import Testing

/// What can never work is told when it is asked for, by the real programs.
@Suite(.serialized) struct HopelessInputTests {
    @Test(.timeLimit(.minutes(2)))
    func itIsRefusedBeforeItIsStored() async throws {
        let bed = try TestBed()
        try bed.configure("upload:\n  roots: [\(bed.folder.path)]")
        let folder = bed.folder.path + "/photos"
        #expect(mkdir(folder, 0o700) == 0)
        try await bed.withDaemon { _ in
            let to = bed.server.site
            for (arguments, told) in [
                (["file=\(folder)", "to=\(to)/x"], "halyard upload \(folder)"),
                (["to=\(to)/x"], "give a file or a body"),
                (["to=\(to.replacing("http://", with: "http://user:pw@"))/x", "body=x"], "use a credential instead"),
                (["to=\(to)/x", "body=x", "headers={\"Host\":\"a\"}"], "must not set `host`"),
            ] {
                let refused = try await ChildProcess.run(
                    binary("halyard"), ["enqueue", "send"] + arguments, environment: ["HALYARD_SOCKET": bed.socket])
                #expect(refused.status == .exited(65))
                #expect(refused.errors.contains(told), "\(refused.errors)")
            }
            let document = "definitions:\n  a:\n    kind: upload\n    input:\n      to: http://user:pw@h/\n"
            try bed.folder.write(document, to: "wrong.yaml")
            let applied = try await bed.halyard("definitions", "apply", bed.folder.path + "/wrong.yaml")
            #expect(applied.status == .exited(78))
            #expect(
                applied.errors.contains("ine 4: definition \"a\": input: `to` must not contain a user"),
                "\(applied.errors)")
            #expect(try await bed.ask("SELECT count(*) FROM job") == "0")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func whatWillNotRunIsTold() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            let first = try await bed.enqueue("visit", "\(bed.server.site)/page/1", "--in", "1h")
            #expect(try await bed.halyard("cancel", first).status == .exited(0))
            let after = try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/2", "--after", first)
            #expect(after.status == .exited(0) && after.output == "2")
            #expect(after.errors.contains("job 2 will not run"), "\(after.errors)")
            #expect(try await bed.ask("SELECT state FROM jobs WHERE job = 2") == "skipped")
        }
    }
}
