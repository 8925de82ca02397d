import Foundation
import OperationTypes
import Synchronization

/// An ``AsyncResultOperation`` that takes its input from an operation on which it depends.
///
/// An input given to the initializer wins. Otherwise the input is determined at the start: it is the output of the
/// operation that was added with ``addDependency(supplyingInput:)``. Without such an operation, it is the output of the
/// first dependency that succeeded with a value of type `Input`. If there is no input because a dependency failed, that
/// failure is the ``upstreamFailure``. It also becomes this operation's failure, through ``failure(fromUpstream:)``,
/// and `main()` does not run. If the types do not allow that, `main()` runs without input.
///
/// SAFETY: This class adds only a mutex.
open class ChainedAsyncResultOperation<Input: Sendable, Output: Sendable, Failure: Error>:
    AsyncResultOperation<Output, Failure>, @unchecked Sendable
{
    private struct Supply: Sendable {
        var input: Input?
        var upstreamFailure: (any Error)?
        var supplier: (@Sendable () -> (input: Input?, failure: (any Error)?))?
    }

    private let supply: Mutex<Supply>

    /// The input, once it is known. It is nil in `main()` if there is none.
    public final var input: Input? { supply.withLock { $0.input } }

    /// The failure of the operation that should have supplied the input. Nil if there is an input, or if no dependency
    /// failed. It remains after the finish, even if ``failure(fromUpstream:)`` could not translate it.
    public final var upstreamFailure: (any Error)? { supply.withLock { $0.upstreamFailure } }

    /// Creates an operation.
    ///
    /// - Parameter input: The input. If nil, a dependency supplies it. Default: nil.
    public init(input: Input? = nil) {
        supply = Mutex(Supply(input: input))
        super.init()
    }

    /// Adds a dependency whose output becomes the input. The compiler checks that the types fit.
    public final func addDependency<E>(supplyingInput operation: AsyncResultOperation<Input, E>) {
        addDependency(operation)
        supply.withLock { supply in
            // The reference is weak, since the list of dependencies already retains the operation.
            supply.supplier = { [weak operation] in (operation?.output as? Input, operation?.outputFailure) }
        }
    }

    /// The failure with which this operation ends if the dependency that should have supplied its input failed.
    /// Default: the same failure, if it has type `Failure`; otherwise, if `Failure` is an `UpstreamFailure`, a failure
    /// that wraps it; otherwise nil. If it is nil, `main()` runs without input, and ``upstreamFailure`` is the reason.
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
