import Foundation
import Jobs
import Logging
import SQLiteStore
import Testing

@testable import Daemon

@Suite struct DefinitionKeeperTests {
    /// A running job asks for another by a definition that was written a moment ago.
    @Test func aChildIsPlannedByTheDefinitionsAsTheyAre() async throws {
        let folder = try TemporaryFolder()
        let lock = try DatabaseLock.acquire(forDatabaseAt: folder.path + "/halyard.db")
        let store = try SQLiteJobStore.open(lock)
        let kind = KindDescription(
            name: "echo", summary: "s", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
        try await store.register([kind], now: wallClock())
        let keeper = DefinitionKeeper(store: store, logger: Logger(label: "test"))
        try await keeper.load(by: try await store.anyHolder(now: wallClock()))
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "later", kind: "echo")]), now: wallClock())
        #expect(try await keeper.plan(ChildJob(definition: "later")).jobs.count == 1)
        await store.close()
    }
}
