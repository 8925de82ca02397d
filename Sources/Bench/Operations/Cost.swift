import CAllocationCount
import CLinux
import Glibc

/// The cost of one operation: CPU time of the whole process, and the number of memory allocations.
struct Cost {
    var nanoseconds: Double
    var allocations: Double

    /// Measures `body`, which must carry out `count` operations.
    static func of(_ count: Int, _ body: () -> Void) -> Cost {
        let before = (processTime(), allocation_count())
        body()
        return since(before, count)
    }

    static func of(_ count: Int, isolation: isolated (any Actor)? = #isolation, _ body: () async -> Void) async -> Cost
    {
        let before = (processTime(), allocation_count())
        await body()
        return since(before, count)
    }

    private static func since(_ before: (UInt64, UInt), _ count: Int) -> Cost {
        let time = processTime() - before.0
        return Cost(
            nanoseconds: Double(time) / Double(count),
            allocations: Double(allocation_count() - before.1) / Double(count))
    }

    private static func processTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
