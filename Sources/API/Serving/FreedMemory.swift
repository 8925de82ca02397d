import CLinux
import Dispatch
import Synchronization

/// Returns memory to the system after a request that needed much of it. The allocator keeps all memory below a
/// block that is still in use, so one large graph would otherwise enlarge the daemon permanently.
public enum FreedMemory {
    private static let isPlanned = Atomic(false)

    /// Returns free memory to the system in one second. Calls until then have no further effect.
    public static func returnToSystemSoon() {
        guard isPlanned.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .seconds(1)) {
            isPlanned.store(false, ordering: .relaxed)
            _ = malloc_trim(0)
        }
    }
}
