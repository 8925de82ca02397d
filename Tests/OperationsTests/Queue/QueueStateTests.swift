import Testing

@testable import Operations

/// The steps of a queue, one after the other, in orders that threads rarely take.
@Suite struct QueueStateTests {
    /// Performs the step in which a worker takes its next operation.
    private static func start(_ state: inout QueueState) -> QueueState.Handle? {
        state.search()
        return state.next()?.handle
    }

    private static func add(_ operation: Gated, to state: inout QueueState) -> QueueState.Handle {
        let handle = state.insert(operation, isBarrier: false)
        state.release(handle)
        return handle
    }

    /// Sorts the handles, because a set's order is not reproducible from the seed.
    private static func one(
        of handles: some Sequence<QueueState.Handle>, using random: inout Seeded
    ) -> QueueState.Handle? {
        handles.sorted { $0.number < $1.number }.randomElement(using: &random)
    }

    @Test func parkedOperationThatWasCancelledTakesOneSlot() {
        var state = QueueState()
        state.limit = 2
        let parked = Gated()
        let elsewhere = Gated()
        let handle = Self.add(parked, to: &state)
        let first = Self.start(&state)
        _ = state.park(handle, for: [])
        state.satisfyOne(handle)
        parked.cancel()
        state.expedite(handle)
        let second = Self.start(&state)
        #expect(first == handle && second == handle)
        state.dependencyFinished(ObjectIdentifier(elsewhere))
        let third = Self.start(&state)
        #expect(third == nil)
        _ = state.remove(handle)
        for _ in 0..<2 {
            let next = Self.add(Gated(), to: &state)
            let started = Self.start(&state)
            #expect(started == next)
        }
    }

    /// I2, I3, and no slot is lost: at the end, as many operations can start as at the beginning.
    @Test func randomStepsStartEachOperationOnceAndKeepTheSlots() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = Seeded(state: seed)
        for _ in 0..<200 {
            var state = QueueState()
            state.limit = Int.random(in: 1...3, using: &random)
            var operations: [QueueState.Handle: Gated] = [:]
            var executing: Set<QueueState.Handle> = []
            func start() {
                guard let handle = Self.start(&state) else { return }
                let isNew = executing.insert(handle).inserted
                #expect(isNew && executing.count <= state.limit, "seed \(seed)")
            }
            func finish(_ handle: QueueState.Handle) {
                executing.remove(handle)
                operations[handle] = nil
                _ = state.remove(handle)
            }
            for _ in 0..<60 {
                let chosen = Self.one(of: operations.keys, using: &random)
                let running = Self.one(of: executing, using: &random)
                switch Int.random(in: 0..<8, using: &random) {
                case 0, 1:
                    let operation = Gated()
                    operations[Self.add(operation, to: &state)] = operation
                case 2, 3: start()
                case 4:
                    guard let running else { break }
                    executing.remove(running)
                    // The operation reports that it is not ready, or has a new dependency.
                    let dependency = chosen == running ? nil : chosen.flatMap { operations[$0] }
                    _ = state.park(running, for: Bool.random(using: &random) ? [dependency].compactMap(\.self) : [])
                    state.satisfyOne(running)
                case 5: if let running { finish(running) }
                case 6:
                    guard let chosen else { break }
                    operations[chosen]?.cancel()
                    state.expedite(chosen)
                default: state.expediteCancelledForeign()
                }
            }
            for operation in operations.values { operation.cancel() }
            while let handle = Self.one(of: operations.keys, using: &random) {
                state.expediteCancelled()
                var before = -1
                while executing.count > before {
                    before = executing.count
                    start()
                }
                guard let ended = Self.one(of: executing, using: &random) else {
                    Issue.record("\(handle) does not start, seed \(seed)")
                    break
                }
                finish(ended)
            }
            #expect(state.count == 0, "seed \(seed)")
            for _ in 0..<state.limit {
                _ = Self.add(Gated(), to: &state)
                start()
            }
            #expect(executing.count == state.limit, "seed \(seed)")
        }
    }
}
