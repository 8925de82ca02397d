import CLauncher
import Synchronization

/// The processes that a launched process leaves when it ends.
public enum Orphans {
    private static let adopted = Atomic<Bool>(false)

    /// Makes this program the parent of all processes that its launched processes leave, and kills them, even those that
    /// have left the group and the session. Otherwise, init becomes their parent, and only those are killed that are
    /// still in the process group.
    ///
    /// Call it once, before the first launch, unless each process gets a cgroup. From then on, a child of this program with a
    /// session of its own that this library did not launch counts as an orphan, and is killed and reaped. So no other code of
    /// this program may start children with `setsid`.
    public static func adopt() {
        // It fails only on kernels before 3.4.
        if launcher_adopt_orphans() == 0 { adopted.store(true, ordering: .releasing) }
    }

    static var areAdopted: Bool { adopted.load(ordering: .acquiring) }
}
