import JobStoreContract
import Jobs
import SQLiteStore
import Testing

@Suite struct ContractTests {
    @Test(arguments: Check.all)
    func keepsThePromise(_ check: Check) async throws {
        let directory = try TemporaryDirectory()
        let source = StoreSource(
            open: { clock in try directory.open(clock: clock) },
            end: { store in await (store as! SQLiteJobStore).close() })
        try await check.run(source)
    }
}
