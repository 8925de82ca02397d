import Glibc
import Synchronization

/// The room on disks for copies of files.
///
/// A copy promises its size before it begins. Bytes that are promised to one copy and not written yet are not promised to
/// another, so copies that run at the same time do not fill the disk together.
public final class PromisedRoom: Sendable {
    /// The room for all copies of this process. It leaves the reserve of ``FileSystem/room(at:)`` free.
    public static let shared = PromisedRoom(FileSystem.room)

    private let free: @Sendable (String) -> Int64?
    private let disks = Mutex<[UInt64: Disk]>([:])

    /// - Parameter free: Returns the number of bytes that copies in a folder may use; nil for any.
    package init(_ free: @escaping @Sendable (String) -> Int64?) { self.free = free }

    /// Promises room for a file in a folder.
    ///
    /// - Parameter bytes: The size of the file; nil if it is unknown. Then only ``Promise/use(_:)`` looks for room.
    /// - Throws: ``NoRoom``. Then nothing is promised.
    public func promise(_ bytes: Int64?, in folder: String) throws(NoRoom) -> Promise {
        let promise = Promise(disk(of: folder)) { [free] in free(folder) }
        if let bytes { try promise.extend(to: bytes) }
        return promise
    }

    private func disk(of folder: String) -> Disk {
        var facts = stat()
        // A folder that does not exist has no room either, which the first look reports.
        let device = stat(folder, &facts) == 0 ? UInt64(facts.st_dev) : 0
        return disks.withLock { disks in
            let disk = disks[device] ?? Disk()
            disks[device] = disk
            return disk
        }
    }

    fileprivate final class Disk: Sendable {
        /// The number of bytes that are promised and not written yet. The lock is also held while the disk is asked for its
        /// free space: otherwise two copies could both be promised the same bytes.
        let promised = Mutex<Int64>(0)
    }

    /// The room for one file. It ends when the value is released.
    public final class Promise: Sendable {
        /// The number of bytes between two looks at the disk, which other processes may fill meanwhile.
        package static let step: Int64 = 8 << 20

        private let disk: Disk
        private let free: @Sendable () -> Int64?
        /// The number of promised bytes that are not written yet, and the number of written ones. Lock this before the disk.
        private let state = Mutex<(left: Int64, written: Int64)>((0, 0))

        fileprivate init(_ disk: Disk, _ free: @escaping @Sendable () -> Int64?) {
            self.disk = disk
            self.free = free
        }

        deinit {
            let left = state.withLock(\.left)
            disk.promised.withLock { $0 -= left }
        }

        fileprivate func extend(to bytes: Int64) throws(NoRoom) {
            try state.withLock { (state) throws(NoRoom) in
                try disk.promised.withLock { (promised) throws(NoRoom) in
                    try check(bytes, others: promised)
                    promised += bytes
                }
                state.left = bytes
            }
        }

        /// Notes that the next bytes of the file are about to be written. Looks at the disk again before the first bytes of a
        /// file of unknown size, and after each 8 MiB of any file. Blocks then.
        ///
        /// - Throws: ``NoRoom`` if the rest of the file no longer has room. The caller then removes the file.
        public func use(_ bytes: Int64) throws(NoRoom) {
            try state.withLock { (state) throws(NoRoom) in
                let isUnknown = state.written == 0 && state.left == 0
                let mustLook = isUnknown || state.written / Self.step != (state.written + bytes) / Self.step
                try disk.promised.withLock { (promised) throws(NoRoom) in
                    if mustLook { try check(max(bytes, state.left), others: promised - state.left) }
                    let used = min(bytes, state.left)
                    promised -= used
                    state.left -= used
                }
                state.written += bytes
            }
        }

        private func check(_ bytes: Int64, others: Int64) throws(NoRoom) {
            guard let free = free(), free - others < bytes else { return }
            throw NoRoom(needed: bytes, room: max(0, free - others), promised: others)
        }
    }
}

/// A disk has no room for a copy of a file.
public struct NoRoom: Error, Hashable {
    /// The number of bytes that the copy needs at least.
    public let needed: Int64
    /// The number of bytes that it can use.
    public let room: Int64
    /// The number of bytes that are promised to other copies.
    public let promised: Int64
}
