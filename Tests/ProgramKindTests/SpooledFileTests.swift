import Foundation
import Glibc
import JobFiles
import Jobs
import Synchronization
import Testing

@testable import ProgramKind

/// Files that callers sent to the daemon, and the places of files.
@Suite struct SpooledFileTests {
    private let bench: Bench

    init() throws {
        bench = try Bench()
        try FileManager.default.createDirectory(atPath: bench.folder + "/spool", withIntermediateDirectories: true)
        try "meow".write(toFile: bench.folder + "/spool/m1-2-3", atomically: false, encoding: .utf8)
    }

    @Test func aProgramGetsThePathOfAFileThatWasSent() async throws {
        let input = #"{"a":"spool:m1-2-3/cat & dog.jpg","b":"spool:m1-2-3"}"#
        let script = Bench.script(#"cat "$1" "$2"; basename "$1"; basename "$2""#, #","result":"text""#)
        #expect(try await bench.run(script, input: input).output == #""meowmeowcat & dog.jpg\nfile""#)
        // Standard input has the same paths.
        let end = try await bench.run(#""program":["/bin/cat"],"result":"json""#, input: input)
        let read = try #require(end.output.flatMap { JSONObject(JSONText(trusted: Array($0.utf8))) })
        #expect(read["a"]?.decodedString?.hasSuffix("/files/cat & dog.jpg") == true)
        #expect(read["b"]?.decodedString?.hasSuffix("/files/file") == true)
    }

    @Test func filesOfTheSameNameStayApart() async throws {
        let input = #"{"a":"spool:m1-2-3/x","b":"spool:m1-2-3/../y/x"}"#
        let script = Bench.script(#"basename "$1"; basename "$2"; ls files"#, #","result":"lines""#)
        #expect(try await bench.run(script, input: input).output == #"["x","2-x","2-x","x"]"#)
    }

    /// The longest name that a file can have, in characters of three bytes.
    @Test func longNamesStayApart() async throws {
        let name = String(repeating: "€", count: 85)
        let input = #"{"a":"spool:m1-2-3/\#(name)","b":"spool:m1-2-3/\#(name)"}"#
        let script = Bench.script(#"basename "$1"; basename "$2""#, #","result":"lines""#)
        let cut = "2-" + String(repeating: "€", count: 66)
        #expect(try await bench.run(script, input: input).output == #"["\#(name)","\#(cut)"]"#)
    }

    @Test func theSpoolKeepsItsCopy() async throws {
        let script = Bench.script(#"chmod 600 "$1"; echo woof > "$1"; rm "$1""#)
        #expect(try await bench.run(script, input: #"{"a":"spool:m1-2-3/x","b":""}"#).output == "null")
        #expect(try String(contentsOfFile: bench.folder + "/spool/m1-2-3", encoding: .utf8) == "meow")
    }

    @Test func aFileThatIsGoneFailsTheJob() async throws {
        let end = try await bench.run(Bench.script("exit 3"), input: #"{"a":"spool:m1-2-4/x","b":""}"#)
        #expect(end.code == "invalid_input")
        #expect(end.failure?.failure.message.contains(#"no longer has the file of the field "a""#) == true)
    }

    /// The kernel refuses a write only when the disk is full.
    @Test func aCopyLeavesRoomOnTheDisk() throws {
        let work = try WorkFolder(of: Lease(job: JobID(1), attempt: 1), in: bench.work)
        let source = bench.folder + "/spool/m1-2-3"
        let hasLooked = Mutex(false)
        func copy(_ name: String, _ free: Int64?) throws -> String {
            let room = PromisedRoom { [folder = bench.work] in
                #expect($0 == folder)
                hasLooked.withLock { $0 = true }
                return free
            }
            return try work.copy(source, as: name, in: "files", room: room)
        }
        #expect(try String(contentsOfFile: try copy("exact", 4), encoding: .utf8) == "meow")
        #expect(try String(contentsOfFile: try copy("unknown", nil), encoding: .utf8) == "meow")
        // A clone needs no room.
        guard hasLooked.withLock(\.self) else { return }
        let failure = #expect(throws: FileFailure.self) { try copy("too large", 3) }
        #expect(failure?.code == ENOSPC)
        #expect(access(work.path + "/files/too large", F_OK) != 0 && errno == ENOENT)
    }

    /// Room that is promised to another copy is not used, and a copy that no longer has room leaves nothing on the disk.
    @Test func copiesShareTheRoomOnTheDisk() throws {
        let work = try WorkFolder(of: Lease(job: JobID(1), attempt: 1), in: bench.work)
        let source = bench.folder + "/spool/m1-2-3"
        let looks = Mutex(0)
        let room = PromisedRoom { _ in
            looks.withLock { $0 += 1 }
            return 12
        }
        _ = try work.copy(source, as: "alone", in: "files", room: room)
        // A clone needs no room.
        guard looks.withLock(\.self) > 0 else { return }
        func copyBesideAnother() throws {
            let other = try room.promise(10, in: bench.work)
            defer { withExtendedLifetime(other) {} }
            _ = try work.copy(source, as: "second", in: "files", room: room)
        }
        let failure = #expect(throws: FileFailure.self) { try copyBesideAnother() }
        #expect(failure?.code == ENOSPC)
        _ = try work.copy(source, as: "second", in: "files", room: room)
    }

    @Test func aCopyThatNoLongerHasRoomIsRemovedAtOnce() throws {
        let work = try WorkFolder(of: Lease(job: JobID(1), attempt: 1), in: bench.work)
        let source = bench.folder + "/spool/m1-2-4"
        #expect(FileManager.default.createFile(atPath: source, contents: Data(count: 20 << 20)))
        let sizes = Mutex<[Int64]>([])
        let room = PromisedRoom { folder in
            var facts = stat()
            let size = stat("\(folder)/1-1/files/large", &facts) == 0 ? Int64(facts.st_size) : -1
            // Another process fills the disk.
            return sizes.withLock { sizes in
                sizes.append(size)
                return sizes.count < 3 ? 1 << 30 : 0
            }
        }
        do throws(FileFailure) {
            _ = try work.copy(source, as: "large", in: "files", room: room)
            // A clone needs no room.
            #expect(sizes.withLock(\.self) == [])
        } catch {
            #expect(error.code == ENOSPC)
            #expect(sizes.withLock(\.self) == [0, 7 << 20, 15 << 20])
            #expect(access(work.path + "/files/large", F_OK) != 0 && errno == ENOENT)
        }
    }

    @Test(arguments: ["spool:", "spool:../m1-2-3", "spool:m1", "a spool:m1-2-3", "spool:m1-2-3+"])
    func otherTextsStayAsTheyAre(text: String) async throws {
        let script = Bench.script(#"printf %s "$1""#, #","result":"text""#)
        #expect(try await bench.run(script, input: #"{"a":"\#(text)","b":""}"#).output == #""\#(text)""#)
    }

    /// `/dev/shm` is a file system of its own on almost every machine.
    private static let other: String? = {
        var (here, there) = (stat(), stat())
        guard stat(NSTemporaryDirectory(), &here) == 0, stat("/dev/shm", &there) == 0, here.st_dev != there.st_dev,
            access("/dev/shm", W_OK) == 0
        else { return nil }
        return "/dev/shm/programs-\(UUID().uuidString.prefix(8))"
    }()

    @Test(.enabled(if: other != nil, "there is no second file system"))
    func aResultFileNeedsOneFileSystem() async throws {
        let folder = try #require(Self.other)
        // A folder that is left behind fills only the temporary file system.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let host = ProgramHost(
            ProgramSettings(roots: ["/bin", "/usr/bin"], folder: folder), files: bench.files, logger: bench.host.logger)
        try host.prepare(adoptsOrphans: false)
        func refusal(_ result: String) async throws -> String? {
            let json = #"{"program":["/bin/cp","/etc/passwd","{output}"],"result":"\#(result)"}"#
                .replacing(result == "file" ? "" : #","{output}""#, with: "")
            let program = try ProgramDefinition(json: JSONText(trusted: Array(json.utf8)), at: [])
            let planned = PlannedInput(kind: "program", input: .emptyObject, stage: .definition, program: program)
            return await host.refusals(of: [planned])[0]?.message
        }
        #expect(try await refusal("text") == nil)
        let message = try #require(try await refusal("file"))
        #expect(message.contains("program.directory (\(folder)) is on another file system than \(bench.folder)"))
        await host.close()
    }
}
