import CLinux
import Dispatch
import Synchronization

/// Returns memory to the system after a request that needed much of it. The allocator keeps what lies below anything still
/// in use, so one large graph would otherwise stay in the daemon's size for good.
enum FreedMemory {
    private static let isPlanned = Atomic(false)

    /// Once, a second from now, however often it is asked for meanwhile.
    static func returnToSystemSoon() {
        guard isPlanned.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .seconds(1)) {
            isPlanned.store(false, ordering: .relaxed)
            _ = malloc_trim(0)
        }
    }
}
