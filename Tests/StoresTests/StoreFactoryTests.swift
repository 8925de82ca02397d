import Foundation
import Jobs
import PostgresServer
import Stores
import Testing

@Suite struct StoreFactoryTests {
    private let nowhere = ServerSettings(home: "/nonexistent/home")

    /// Runs `body` in a new folder, and returns the names of the files that it leaves there.
    private func inNewFolder(_ body: (String) async throws -> Void) async throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "halyard-stores-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A folder that stays behind harms nobody.
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test(arguments: ["postgresql:", "mysql://db/jobs", ""])
    func whatIsNoFileCreatesNone(_ text: String) async throws {
        let before = FileManager.default.currentDirectoryPath
        let files = try FileManager.default.contentsOfDirectory(atPath: before)
        let failure = #expect(throws: StoreOpenFailure.self) {
            try StoreFactory.opening(at: text, for: .lasting, onServer: nowhere)
        }
        #expect(failure?.cause == .wrong)
        #expect(try FileManager.default.contentsOfDirectory(atPath: before) == files)
    }

    @Test func aDaemonOpensAFileThatOthersReadAndCannotReserve() async throws {
        let left = try await inNewFolder { folder in
            let opening = try StoreFactory.opening(at: folder + "/halyard.db", for: .brief, onServer: nowhere)
            #expect(opening.isNew)
            #expect(opening.user == nil)
            #expect(throws: StoreOpenFailure.self) { try opening.check() }
            await #expect(throws: StoreOpenFailure.self) { try await opening.openForReading() }
            let reserved = try await opening.reserve(as: .daemon, waiting: .zero) { _ in }
            #expect(reserved.lastEnd == .unexplained)
            let opened = try await reserved.open()
            #expect(opened.name.hasSuffix("/halyard.db"))
            #expect(opened.identity == nil)
            #expect(!opening.isNew)
            #expect(opening.user?.role == .daemon)
            #expect(opening.user?.isLivingDaemon == true)
            let refusal = await #expect(throws: StoreOpenFailure.self) {
                try await opening.reserve(as: .command, waiting: .zero) { _ in }
            }
            #expect(refusal?.cause == .reserved(pid: getpid()))
            #expect(refusal?.mayPass == true)
            let reader = try await opening.openForReading()
            #expect(try await reader.store.counts()[.ready] == 0)
            await reader.close()
            await opened.close()
            reserved.release()
            #expect(opening.user == nil)
        }
        #expect(left.contains("halyard.db"))
    }

    // MARK: Servers

    @Test func anUnreachableServerIsReportedWithoutThePassword() async throws {
        _ = try await inNewFolder { folder in
            let url = "postgresql://halyard:secret@/jobs?host=\(folder)"
            let opening = try StoreFactory.opening(
                at: url, for: .lasting, onServer: ServerSettings(home: folder + "/home"))
            #expect(!opening.isNew)
            #expect(opening.address.description == "postgresql://halyard@/jobs")
            let unchecked = #expect(throws: StoreOpenFailure.self) { try opening.check() }
            let reserved = try await opening.reserve(as: .daemon, waiting: .zero) { _ in }
            let unopened = await #expect(throws: StoreOpenFailure.self) { try await reserved.open() }
            reserved.release()
            for failure in [unchecked, unopened] {
                #expect(failure?.mayPass == true)
                #expect(failure?.description.contains("secret") == false)
            }
        }
    }

    @Test(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed"))
    func theMarkOfAnOutageStaysUntilTheJobsAreRescued() async throws {
        // Other tests use the shared server, so this test starts its own.
        let server = try #require(PostgresServer())
        let url = try server.makeDatabase()
        let now = Timestamp(milliseconds: 0)
        let left = try await inNewFolder { folder in
            let opening = try StoreFactory.opening(
                at: url, for: .lasting, onServer: ServerSettings(home: folder + "/home"))
            func process(_ body: (any JobStore) async throws -> Void) async throws -> LastEnd {
                let reserved = try await opening.reserve(as: .daemon, waiting: .zero) { _ in }
                let opened = try await reserved.open()
                try await body(opened.store)
                await opened.close()
                reserved.release()
                return reserved.lastEnd
            }
            func change(_ store: any JobStore) async throws {
                try await store.change(DefinitionChange(queues: [QueueChange(name: "q", limit: 2)]), now: now)
            }
            #expect(try await process(change) == .unexplained)
            _ = try await process { store in
                let isolated = try server.isolate()
                await #expect(throws: StoreError.self) { try await change(store) }
                isolated.rejoin()
            }
            // A process that ends before its first rescue leaves the mark to the next one.
            let marked = try await process(change)
            guard case .unrelated = marked else { throw Unexpected() }
            let rescued = try await process { store in
                let life = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now)
                _ = try await store.rescue(RescueRequest(maxRescues: 3), by: life.id, now: now)
            }
            #expect(rescued == .unexplained)
        }
        #expect(left == ["home"])
    }

    private struct Unexpected: Error {}

    @Test(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed"))
    func aDaemonKeepsItsIdentityInItsHome() async throws {
        let server = try #require(PostgresServer.shared)
        let url = try server.makeDatabase()
        let left = try await inNewFolder { folder in
            let settings = ServerSettings(home: folder + "/home")
            let opening = try StoreFactory.opening(at: url, for: .lasting, onServer: settings)
            #expect(opening.isNew)
            let missing = #expect(throws: StoreOpenFailure.self) { try opening.check() }
            #expect(missing?.cause == .missing)
            let reserved = try await opening.reserve(as: .daemon, waiting: .zero) { _ in }
            let opened = try await reserved.open()
            let identity = try #require(opened.identity)
            #expect(!opening.isNew)
            #expect(try opening.check() == nil)
            // Another process with the same home would end the life of this one.
            let refusal = await #expect(throws: StoreOpenFailure.self) {
                try await opening.reserve(as: .daemon, waiting: .zero) { _ in }
            }
            #expect(refusal?.cause == .reserved(pid: getpid()))
            // Commands need no home.
            let brief = try StoreFactory.opening(
                at: url, for: .brief, onServer: ServerSettings(home: folder + "/none"))
            let command = try await brief.reserve(as: .command, waiting: .zero) { _ in }
            let direct = try await command.open()
            #expect(direct.identity == nil)
            #expect(try await direct.store.counts()[.ready] == 0)
            await direct.close()
            command.release()
            await opened.close()
            reserved.release()
            let again = try await opening.reserve(as: .daemon, waiting: .zero) { _ in }
            let reopened = try await again.open()
            #expect(reopened.identity == identity)
            await reopened.close()
            again.release()
            // The files in the home belong to the jobs of the first database.
            let otherURL = try server.makeDatabase()
            let other = try await StoreFactory.opening(at: otherURL, for: .lasting, onServer: settings)
                .reserve(as: .daemon, waiting: .zero) { _ in }
            let foreign = await #expect(throws: StoreOpenFailure.self) { try await other.open() }
            #expect(foreign?.cause == .wrong)
            #expect(foreign?.description.contains("/home is the home of a daemon of another database") == true)
            other.release()
            try server.dropDatabase(otherURL)
            // A damaged identity is not replaced silently: its jobs would have no owner.
            try Data("?".utf8).write(to: URL(filePath: folder + "/home/daemon-id"))
            let third = try await opening.reserve(as: .daemon, waiting: .zero) { _ in }
            let damaged = await #expect(throws: StoreOpenFailure.self) { try await third.open() }
            #expect(damaged?.cause == .wrong)
            third.release()
        }
        #expect(left == ["home"])
        try server.dropDatabase(url)
    }

    @Test(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed"))
    func aCommandCreatesNoJobsOnAServer() async throws {
        let server = try #require(PostgresServer.shared)
        let url = try server.makeDatabase()
        let opening = try StoreFactory.opening(at: url, for: .brief, onServer: nowhere)
        let failure = await #expect(throws: StoreOpenFailure.self) { try await opening.openForReading() }
        #expect(failure?.cause == .missing)
        #expect(opening.isNew)
        try server.dropDatabase(url)
    }
}
