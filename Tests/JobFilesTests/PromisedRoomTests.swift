import Foundation
import Glibc
import Jobs
import Synchronization
import Testing

@testable import JobFiles

/// Copies at the same time do not fill a disk together.
@Suite struct PromisedRoomTests {
    /// The room of a disk with this number of free bytes, which each call of the function counts.
    private final class FakeDisk: Sendable {
        let free: Mutex<Int64?>
        let looks = Mutex(0)
        init(_ free: Int64?) { self.free = Mutex(free) }

        var room: PromisedRoom {
            PromisedRoom { _ in
                self.looks.withLock { $0 += 1 }
                return self.free.withLock(\.self)
            }
        }
    }

    private static let folder = FileManager.default.temporaryDirectory.path
    private static let step = PromisedRoom.Promise.step

    @Test func promisedBytesAreNotPromisedAgain() throws {
        let disk = FakeDisk(12)
        let room = disk.room
        var first: PromisedRoom.Promise? = try room.promise(10, in: Self.folder)
        let refusal = NoRoom(needed: 10, room: 2, promised: 10)
        #expect(throws: refusal) { try room.promise(10, in: Self.folder) }
        let small = try room.promise(2, in: Self.folder)
        #expect(throws: NoRoom(needed: 1, room: 0, promised: 12)) { try room.promise(1, in: Self.folder) }
        // Written bytes are no longer free, so they must not count twice.
        try first?.use(10)
        disk.free.withLock { $0 = 2 }
        #expect(throws: NoRoom(needed: 1, room: 0, promised: 2)) { try room.promise(1, in: Self.folder) }
        disk.free.withLock { $0 = 12 }
        first = nil
        _ = try room.promise(10, in: Self.folder)
        try small.use(2)
    }

    @Test func aPromiseEndsWithItsCopy() throws {
        let room = FakeDisk(12).room
        for _ in 0..<3 {
            let promise = try room.promise(10, in: Self.folder)
            try promise.use(4)
        }
        #expect(throws: NoRoom(needed: 13, room: 12, promised: 0)) { try room.promise(13, in: Self.folder) }
    }

    @Test func otherDisksHaveTheirOwnRoom() throws {
        var (here, there) = (stat(), stat())
        // Almost every machine has a file system of its own there.
        guard stat(Self.folder, &here) == 0, stat("/dev/shm", &there) == 0, here.st_dev != there.st_dev else { return }
        let room = FakeDisk(12).room
        let promises = [try room.promise(10, in: Self.folder), try room.promise(10, in: "/dev/shm")]
        #expect(promises.count == 2)
    }

    /// Other processes may fill the disk meanwhile.
    @Test func theDiskIsLookedAtAgain() throws {
        let disk = FakeDisk(3 * Self.step)
        let promise = try disk.room.promise(2 * Self.step, in: Self.folder)
        try promise.use(Self.step - 1)
        #expect(disk.looks.withLock(\.self) == 1)
        try promise.use(1)
        #expect(disk.looks.withLock(\.self) == 2)
        disk.free.withLock { $0 = 0 }
        try promise.use(Self.step - 1)
        #expect(throws: NoRoom(needed: 1, room: 0, promised: 0)) { try promise.use(1) }
    }

    @Test func aFileOfUnknownSizeNeedsRoomForItsFirstBytes() throws {
        let room = FakeDisk(12).room
        let other = try room.promise(10, in: Self.folder)
        let promise = try room.promise(nil, in: Self.folder)
        #expect(throws: NoRoom(needed: 3, room: 2, promised: 10)) { try promise.use(3) }
        try promise.use(2)
        try other.use(10)
    }

    @Test func aDiskThatDoesNotReportItsSpaceHasRoom() throws {
        let room = FakeDisk(nil).room
        let promises = try (0..<3).map { _ in try room.promise(Int64.max / 4, in: Self.folder) }
        #expect(promises.count == 3)
    }

    /// However many copies begin at once, only those are promised room that fit.
    @Test func copiesThatBeginTogetherShareTheRoom() async {
        let room = FakeDisk(25).room
        let promises = await withTaskGroup(of: PromisedRoom.Promise?.self) { group in
            // A refusal is the expected outcome of most.
            for _ in 0..<20 { group.addTask { try? room.promise(10, in: Self.folder) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(promises.count == 20 && promises.compactMap(\.self).count == 2)
    }
}
