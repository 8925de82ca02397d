import Dispatch
import Operations
import Synchronization

/// A block in a chain.
///
/// 1. A link waits for its input, then for its turn, then runs, then is finished; it never goes back.
/// 2. A link that is cancelled before it runs finishes as cancelled when its turn comes.
/// 3. A link whose predecessor failed or was cancelled finishes with that error at once.
///
/// SAFETY: The variables are accessed under the lock, with two exceptions. Only the thread that finishes the previous
/// link, and after it the thread that runs this one, access `input`, `isSkipped` and, until `isFinished` is set,
/// `value` and `error`. After `isFinished` is set, only the lists change, and they belong to the thread that set it.
@usableFromInline
final class Link<In: Sendable, Out: Sendable>: AnyLink, @unchecked Sendable {
    @usableFromInline typealias Outcome = Result<Out, any Error>

    /// A block in the form in which the caller passed it. Converting one form to the other would allocate memory.
    @usableFromInline
    enum Block: Sendable {
        case first(@Sendable () throws -> Out)
        case next(@Sendable (In) throws -> Out)
    }

    // The lock holds no value: destroying a Mutex of a generic type would take longer than everything else a link does.
    @usableFromInline let lock: Mutex<Void>
    /// Set once, under the lock; read without it.
    @usableFromInline let isFinished: Atomic<Bool>
    /// Nil once the link runs or can no longer run, so that its captures are released.
    @exclusivity(unchecked) @usableFromInline var block: Block?
    @exclusivity(unchecked) @usableFromInline var input: Slot
    @exclusivity(unchecked) @usableFromInline var value: Slot
    /// The error of the previous link, or the link's own.
    @exclusivity(unchecked) @usableFromInline var error: (any Error)?
    /// Whether any of the lists has an element.
    @exclusivity(unchecked) @usableFromInline var isAwaited: Bool
    @exclusivity(unchecked) @usableFromInline var followers: Few<Follower<Out>>
    @exclusivity(unchecked) @usableFromInline var catchers: Few<@Sendable (any Error) -> Void>
    @exclusivity(unchecked) @usableFromInline var waits: Few<DispatchSemaphore>

    @inlinable
    init(_ target: TargetQueue, after delay: Double?, _ block: Block) {
        lock = Mutex(())
        isFinished = Atomic(false)
        self.block = block
        input = Slot()
        value = Slot()
        error = nil
        isAwaited = false
        followers = Few()
        catchers = Few()
        waits = Few()
        // SAFETY: A link passes itself to the closure that it was created with.
        super.init(target, after: delay) { unsafeDowncast($0, to: Link.self).take(&$1) }
    }

    @inlinable
    deinit {
        input.clear(In.self)
        value.clear(Out.self)
    }

    @inlinable var outcome: Outcome? {
        guard isFinished.load(ordering: .acquiring) else { return nil }
        if let error { return .failure(error) }
        return value.value(Out.self).map { .success($0) }
    }
}

// MARK: - Running

extension Link {
    @inlinable
    func receive(_ input: Result<In, any Error>) {
        switch input {
        case .success(let value):
            self.input.set(value)
            isSkipped = delay == nil && lock.withLock { _ in if case nil = block { true } else { false } }
        case .failure(let error):
            self.error = error
            isSkipped = true
        }
    }

    /// Runs the block, or skips it.
    @inlinable
    func take(_ known: inout Few<AnyLink>) {
        let block = lock.withLock { _ in self.block.take() }
        if error == nil {
            let outer = RequestedQoS.enter(target)
            do {
                switch block {
                case .first(let block)?: value.set(try block())
                case .next(let block)?: if let input = input.value(In.self) { value.set(try block(input)) }
                case nil: throw CancellationError()
                }
            } catch { self.error = error }
            RequestedQoS.leave(to: outer)
            input.clear(In.self)
        }
        finish(&known)
    }

    @inlinable
    func finish(_ known: inout Few<AnyLink>) {
        let isAwaited = lock.withLock { _ in
            isFinished.store(true, ordering: .releasing)
            return self.isAwaited
        }
        guard isAwaited, let outcome else { return }
        waits.visit { $0.signal() }
        if let error { catchers.visit { target.call($0, error) } }
        followers.visit {
            $0.receive($0.link, outcome)
            known.append($0.link)
        }
        waits = Few()
        catchers = Few()
        followers = Few()
    }
}

// MARK: - Attaching

extension Link {
    /// Adds an element to a list.
    ///
    /// - Returns: False if the link has finished. Nothing was added then.
    @inlinable
    func attach(_ append: () -> Void) -> Bool {
        lock.withLock { _ in
            guard !isFinished.load(ordering: .relaxed) else { return false }
            isAwaited = true
            append()
            return true
        }
    }

    @inlinable
    func follow<Next>(_ next: Link<Out, Next>) {
        // SAFETY: A follower is called with the link it was created with.
        let follower = Follower<Out>(link: next) { unsafeDowncast($0, to: Link<Out, Next>.self).receive($1) }
        if !attach({ followers.append(follower) }), let outcome {
            next.receive(outcome)
            next.begin()
        }
    }

    @inlinable
    func `catch`(_ catcher: @escaping @Sendable (any Error) -> Void) {
        if !attach({ catchers.append(catcher) }), let error { target.call(catcher, error) }
    }

    /// Prevents the block from running, if it has not begun, and releases it.
    @inlinable
    func cancel() {
        let block = lock.withLock { _ in self.block.take() }
        withExtendedLifetime(block) {}
    }

    @inlinable
    func wait(seconds: Double?) -> DispatchTimeoutResult {
        // The thread spins before it sleeps, since sleeping costs more than most blocks do.
        for _ in 0..<(target.isShared ? WorkerPool.spins : 1) where isFinished.load(ordering: .acquiring) {
            return .success
        }
        let signal = DispatchSemaphore(value: 0)
        let isLate = !attach { waits.append(signal) }
        if isLate || AnyLink.wait(for: signal, seconds: seconds, { isFinished.load(ordering: .acquiring) }) {
            return .success
        }
        lock.withLock { _ in
            if !isFinished.load(ordering: .relaxed) { waits.remove { $0 === signal } }
        }
        return .timedOut
    }
}
