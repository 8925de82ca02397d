import Foundation
import Jobs
import Programs
import SQLiteStore
import Testing

/// A real store in a folder of its own, with one definition, `echo`.
struct TestStore: Sendable {
    static let moment = Timestamp(milliseconds: 1_709_164_800_001)

    let directory: String
    let store: SQLiteJobStore

    var database: String { directory + "/halyard.db" }

    static func with(_ body: (TestStore) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/halyard-control-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        // A leftover in the temporary directory harms nobody.
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let lock = try DatabaseLock.acquire(forDatabaseAt: directory + "/halyard.db")
        let store = try SQLiteJobStore.open(lock, options: .brief)
        do {
            let kind = KindDescription(
                name: "echo", summary: "s", inputType: "I", outputType: "O", accepts: nil, offers: "O",
                fields: [InputField("text", .string, summary: "t")])
            try await store.register([kind], now: TestStore.moment)
            try await store.change(
                DefinitionChange(definitions: [Definition(name: "echo", kind: "echo")]), now: TestStore.moment)
            try await body(TestStore(directory: directory, store: store))
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// Changes the database behind the store's back, as only a fault would.
    func tamper(_ statement: String) async throws {
        let answer = try await ChildProcess.run("sqlite3", ["-cmd", ".timeout 5000", database, statement])
        #expect(answer.status == .exited(0), "\(answer.errors)")
    }
}
