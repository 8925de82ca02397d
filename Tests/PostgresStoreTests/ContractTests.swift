import JobStoreContract
import Jobs
import PostgresStore
import Testing

@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct ContractTests {
    private static let capabilities = StoreCapabilities(holders: .many)
    /// The checks with one holder, whose clock jumps by days while its process does not renew its life.
    private static let withoutRenewals = Set(
        Check.all(for: StoreCapabilities(holders: .one)).map(\.name))

    @Test(arguments: Check.all(for: capabilities))
    func keepsThePromise(_ check: Check) async throws { try await run(check) }

    /// Promises about jobs that are pruned. A step of pruning ends at the end of a range, so checks of single steps are
    /// left out.
    private static let ofPruning: Set = [
        "pruningDeletesOldFinishedJobsWithAllThatIsTheirs", "aJobStaysWhileItsGraphOrADependentIsOpen",
        "aGraphIsPrunedWholeByItsOutcome", "aClockThatOnceJumpedForwardDoesNotStopPruning",
        "aPrunedNumberIsNeverUsedAgain", "aKeyLastsAsLongAsItsJobs",
    ]

    @Test(arguments: Check.all(for: capabilities).filter { ofPruning.contains($0.name) })
    func keepsThePromiseWithRangesOfThreeJobs(_ check: Check) async throws { try await run(check, rangeJobs: 3) }

    private func run(_ check: Check, rangeJobs: Int? = nil) async throws {
        try await Turns.shared.run {
            let database = try TestDatabase()
            var options = PostgresStoreOptions()
            if let rangeJobs { options.rangeJobs = rangeJobs }
            if Self.withoutRenewals.contains(check.name) { options.lifeLength = .seconds(1_000_000_000) }
            let source = StoreSource(
                capabilities: Self.capabilities, open: { [options] clock in try database.open(options, clock: clock) },
                end: { store in await (store as! PostgresJobStore).close() })
            try await check.run(source)
        }
    }
}
