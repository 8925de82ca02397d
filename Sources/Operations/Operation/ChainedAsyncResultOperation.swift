import Foundation
import OperationTypes
import Synchronization

/// An ``AsyncResultOperation`` that takes its input from an operation it depends on.
///
/// An input given to the initializer wins. Otherwise, at the start, it is the output of the operation named with
/// ``addDependency(supplyingInput:)``, or otherwise of the first dependency, in their order, that succeeded with a
/// value of type `Input`. If there is no input because a dependency failed, its failure is the ``upstreamFailure``. It
/// also becomes this operation's failure, through ``failure(fromUpstream:)``, and `main()` does not run. If the types
/// do not allow that, `main()` runs without input.
///
/// SAFETY: What this class adds is a mutex.
open class ChainedAsyncResultOperation<Input: Sendable, Output: Sendable, Failure: Error>:
    AsyncResultOperation<Output, Failure>, @unchecked Sendable
{
    private struct Supply: Sendable {
        var input: Input?
        var upstreamFailure: (any Error)?
        var supplier: (@Sendable () -> (input: Input?, failure: (any Error)?))?
    }

    private let supply: Mutex<Supply>

    /// The input, once it is known. `main()` sees nil when nobody supplied one.
    public final var input: Input? { supply.withLock { $0.input } }

    /// The failure of the operation that should have supplied the input. Nil if there is an input, or no dependency
    /// failed. It remains after the finish, even if ``failure(fromUpstream:)`` could not translate it.
    public final var upstreamFailure: (any Error)? { supply.withLock { $0.upstreamFailure } }

    /// - Parameter input: The input; if nil, a dependency supplies it.
    public init(input: Input? = nil) {
        supply = Mutex(Supply(input: input))
        super.init()
    }

    /// Adds a dependency that is the one to supply the input. The compiler checks that it fits.
    public final func addDependency<E>(supplyingInput operation: AsyncResultOperation<Input, E>) {
        addDependency(operation)
        supply.withLock { supply in
            // Weak: the list of dependencies holds it already.
            supply.supplier = { [weak operation] in (operation?.output as? Input, operation?.outputFailure) }
        }
    }

    /// The failure with which this operation ends when the dependency that should have supplied its input failed: the
    /// same failure if it has type `Failure`; otherwise, if the type is an `UpstreamFailure`, one that wraps it. If
    /// nil, `main()` runs without input, and ``upstreamFailure`` is the reason.
    open func failure(fromUpstream error: any Error) -> Failure? {
        if let error = error as? Failure { return error }
        return (Failure.self as? any UpstreamFailure.Type)?.upstream(error) as? Failure
    }

    override func prepare() -> Bool {
        let (known, supplier) = supply.withLock { ($0.input, $0.supplier) }
        guard known == nil else { return true }
        let (input, error) = supplier?() ?? dependencies.firstOutput(Input.self)
        if let input {
            supply.withLock { $0.input = input }
        } else if let error {
            supply.withLock { $0.upstreamFailure = error }
            guard let failure = failure(fromUpstream: error) else { return true }
            finish(with: .failure(failure))
            return false
        }
        return true
    }
}

extension [Operation] {
    /// The first output of a type, and the first failure.
    fileprivate func firstOutput<Input>(_: Input.Type) -> (Input?, (any Error)?) {
        var error: (any Error)?
        for case let dependency as any ChainedOperationOutputProviding in self {
            if let output = dependency.output {
                if let input = output as? Input { return (input, nil) }
            } else {
                error = error ?? dependency.outputFailure
            }
        }
        return (nil, error)
    }
}
