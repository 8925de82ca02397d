import Jobs
import Synchronization

/// Two holders of one database, as two daemons on two machines.
struct Pair: Sendable {
    let a: Workbench
    let b: Workbench

    init(_ a: Workbench) async throws {
        self.a = a
        b = try await Workbench(beside: a, as: .other())
    }

    /// Lets both lives last while time passes. Advances in steps that are shorter than a life.
    func advance(_ duration: Duration, renewing benches: Workbench...) async throws {
        var left = duration
        while left > .zero {
            let step = min(left, HolderLife.usualLength / 3)
            a.advance(step)
            left -= step
            for bench in benches {
                guard case .renewed = try await bench.store.renew(bench.holder, now: bench.now) else {
                    throw Violation(description: "expected the life \(bench.holder) to last")
                }
            }
        }
    }
}

extension Check {
    /// A check with two holders of one database.
    init(pair name: String, _ run: @escaping @Sendable (Pair) async throws -> Void) {
        self.init(name) { bench in
            let pair = try await Pair(bench)
            try await run(pair)
            try await pair.b.end()
        }
    }
}

/// Waits for a change that another holder's write causes.
///
/// - Parameter write: Causes the change, after the observation has begun.
func expectChange(
    in store: any JobStore, _ what: String, where isWanted: @escaping @Sendable (StoreChange) -> Bool,
    after write: () async throws -> Void
) async throws {
    let (changes, sink) = AsyncStream<Void>.makeStream()
    let observation = store.observe { if isWanted($0) { sink.yield() } }
    defer { observation.cancel() }
    try await write()
    let isFound = try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask {
            for await _ in changes { return true }
            return false
        }
        group.addTask {
            // The limit of a promise that was not kept; a kept one ends this early.
            try await Task.sleep(for: .seconds(60))
            return false
        }
        defer { group.cancelAll() }
        return try await group.next() ?? false
    }
    try expect(isFound, "observers of another holder hear that \(what)")
}
