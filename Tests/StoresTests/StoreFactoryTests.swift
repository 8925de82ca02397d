import Foundation
import Jobs
import Stores
import Testing

@Suite struct StoreFactoryTests {
    /// Runs `body` in a new folder, and returns the names of the files that it leaves there.
    private func inNewFolder(_ body: (String) async throws -> Void) async throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "halyard-stores-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A folder that stays behind harms nobody.
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test(arguments: ["postgresql:", "postgresql://halyard@db/jobs", "mysql://db/jobs", ""])
    func whatIsNoFileCreatesNone(_ text: String) async throws {
        let before = FileManager.default.currentDirectoryPath
        let files = try FileManager.default.contentsOfDirectory(atPath: before)
        let failure = #expect(throws: StoreOpenFailure.self) { try StoreFactory.opening(at: text, for: .lasting) }
        #expect(failure?.cause == .wrong)
        #expect(try FileManager.default.contentsOfDirectory(atPath: before) == files)
    }

    @Test func aServerNeedsAStoreThatThisBuildDoesNotHave() {
        let failure = #expect(throws: StoreOpenFailure.self) {
            try StoreFactory.opening(at: "postgresql://halyard:secret@db/jobs", for: .brief)
        }
        #expect(failure?.description.contains("this build has no PostgreSQL store") == true)
        #expect(failure?.description.contains("secret") == false)
    }

    @Test func aDaemonOpensAFileThatOthersReadAndCannotReserve() async throws {
        let left = try await inNewFolder { folder in
            let opening = try StoreFactory.opening(at: folder + "/halyard.db", for: .brief)
            #expect(opening.isNew)
            #expect(opening.user == nil)
            #expect(throws: StoreOpenFailure.self) { try opening.check() }
            await #expect(throws: StoreOpenFailure.self) { try await opening.openForReading() }
            let reserved = try await opening.reserve(as: .daemon, waiting: .zero) { _ in }
            #expect(reserved.lastEnd == .unexplained)
            let opened = try await reserved.open()
            #expect(opened.name.hasSuffix("/halyard.db"))
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
}
