import ControlProtocol
import Jobs
import Testing

@testable import StoreControl

/// A store with several connections may report the end of a job before its acceptance.
@Suite struct SpoolUsesTests {
    private let none: [(job: JobID, isSuccess: Bool)] = []

    @Test func anEndBeforeTheAcceptanceReleasesTheFile() throws {
        let file = try #require(SpooledFile("spool:m1-2-3")?.name)
        var uses = SpoolUses(mayMissJobs: true)
        #expect(uses.follow(added: [], ended: [(JobID(7), true), (JobID(8), true)]).isEmpty)
        #expect(uses.follow(added: [(JobID(7), [file])], ended: none) == [file])
        #expect(uses.leave([file]) == [file])
    }

    @Test func aFailureBeforeTheAcceptanceKeepsTheFileForARetry() throws {
        let file = try #require(SpooledFile("spool:m1-2-3")?.name)
        var uses = SpoolUses(mayMissJobs: true)
        #expect(uses.follow(added: [], ended: [(JobID(7), false)]).isEmpty)
        #expect(uses.follow(added: [(JobID(7), [file])], ended: none).isEmpty)
        #expect(uses.keptForRetry == [file])
        #expect(uses.unsuccessfulJobs == [JobID(7)])
    }
}
