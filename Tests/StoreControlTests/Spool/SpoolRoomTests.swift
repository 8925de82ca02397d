import ControlProtocol
import Foundation
import JobFiles
import Jobs
import OperationTypes
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
        let disk = PromisedRoom { _ in room() }
        return try Spool(directory: files.directory + "/spool", maxBytes: 1 << 40, room: disk)
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
            // The spool checks before the first piece, and after 8 and 16 MiB.
            #expect(looks.withLock(\.self) == 3)
            #expect(try await spool.files() == [] && spool.amount.bytes == 0)
        }
    }

    @Test func aSmallFileOfUnknownSizeNeedsRoomToo() async throws {
        try await TestStore.with { files in
            let spool = try spool(in: files) { 99 }
            let problem = await #expect(throws: ControlProblem.self) {
                try await spool.keep(pieces(1, of: 100), size: nil, now: TestStore.moment)
            }
            #expect(problem?.message.contains("it needs at least 100 more bytes, but only 99 can be used") == true)
            #expect(try await spool.files() == [] && spool.amount.bytes == 0)
            _ = try await spool.keep(pieces(1, of: 99), size: nil, now: TestStore.moment)
        }
    }

    /// The first file is announced, and its content has not arrived yet.
    @Test(.timeLimit(.minutes(2))) func filesAtTheSameTimeShareTheRoom() async throws {
        try await TestStore.with { files in
            let spool = try spool(in: files) { 12 }
            let (isAwaited, mayArrive) = (Latch<Void>(), Latch<Void>())
            let content = Mutex([[UInt8](repeating: 7, count: 10)])
            let slow = AsyncStream<[UInt8]> {
                guard let piece = content.withLock({ $0.popLast() }) else { return nil }
                isAwaited.open()
                await mayArrive.uncancellableWait()
                return piece
            }
            async let first = spool.keep(slow, size: 10, now: TestStore.moment)
            await isAwaited.uncancellableWait()
            for size in [3, nil] as [Int64?] {
                let problem = await #expect(throws: ControlProblem.self) {
                    try await spool.keep(pieces(1, of: 3), size: size, now: TestStore.moment)
                }
                #expect(problem?.code == .unavailable)
                #expect(
                    problem?.message.contains("it needs at least 3 more bytes, but only 2 can be used") == true
                        && problem?.message.contains("and 10 bytes are for other files") == true,
                    "\(problem?.message ?? "none")")
            }
            let small = try await spool.keep(pieces(1, of: 2), size: 2, now: TestStore.moment)
            mayArrive.open()
            let large = try await first
            #expect(spool.holds(small) && spool.holds(large) && spool.amount.files == 2)
            _ = try await spool.keep(pieces(1, of: 12), size: 12, now: TestStore.moment)
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
