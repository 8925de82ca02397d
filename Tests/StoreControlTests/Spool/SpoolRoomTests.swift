import ControlProtocol
import Foundation
import JobFiles
import Jobs
import Synchronization
import Testing

@testable import StoreControl

/// The spool leaves room on its disk.
@Suite struct SpoolRoomTests {
    private func pieces(_ count: Int, of size: Int) -> AsyncStream<[UInt8]> {
        AsyncStream { pieces in
            for _ in 0..<count { pieces.yield([UInt8](repeating: 7, count: size)) }
            pieces.finish()
        }
    }

    private func spool(in files: TestStore, _ room: @escaping @Sendable () -> Int64?) throws -> Spool {
        try Spool(directory: files.directory + "/spool", maxBytes: 1 << 40, room: room)
    }

    @Test func aFileWithoutRoomIsRefusedBeforeItIsWritten() async throws {
        try await TestStore.with { files in
            let spool = try spool(in: files) { 99 }
            let problem = await #expect(throws: ControlProblem.self) {
                try await spool.keep(pieces(1, of: 100), size: 100, now: TestStore.moment)
            }
            #expect(problem?.code == .unavailable)
            #expect(
                problem?.message.contains("it needs at least 100 more bytes, but only 99 can be used") == true,
                "\(problem?.message ?? "none")")
            #expect(problem?.message.contains("spool.directory") == true)
            #expect(try await spool.files() == [] && spool.amount.bytes == 0)
            let kept = try await spool.keep(pieces(1, of: 99), size: 99, now: TestStore.moment)
            #expect(spool.holds(kept))
        }
    }

    /// Another process fills the disk meanwhile, and the size was not announced.
    @Test func aFileThatWouldFillTheDiskIsRemoved() async throws {
        try await TestStore.with { files in
            let looks = Mutex(0)
            let spool = try spool(in: files) {
                looks.withLock { looks in
                    looks += 1
                    return looks < 3 ? 1 << 30 : 0
                }
            }
            await #expect(throws: ControlProblem.self) {
                try await spool.keep(pieces(20, of: 1 << 20), size: nil, now: TestStore.moment)
            }
            // The spool checks at the beginning, and after 8 and 16 MiB.
            #expect(looks.withLock(\.self) == 3)
            #expect(try await spool.files() == [] && spool.amount.bytes == 0)
        }
    }

    @Test func aDiskThatDoesNotReportItsSpaceIsUsed() async throws {
        try await TestStore.with { files in
            let spool = try spool(in: files) { nil }
            _ = try await spool.keep(pieces(9, of: 1 << 20), size: 9 << 20, now: TestStore.moment)
            #expect(spool.amount.files == 1)
        }
    }
}
