import JobStoreContract
import Jobs
import SQLiteStore
import Testing

@Suite struct ContractTests {
    /// One process holds the lock, so there is one holder.
    private static let capabilities = StoreCapabilities(holders: .one)

    @Test(arguments: Check.all(for: capabilities))
    func keepsThePromise(_ check: Check) async throws {
        let directory = try TemporaryDirectory()
        let source = StoreSource(
            capabilities: Self.capabilities,
            open: { clock in try directory.open(clock: clock) },
            end: { store in await (store as! SQLiteJobStore).close() })
        try await check.run(source)
    }
}
