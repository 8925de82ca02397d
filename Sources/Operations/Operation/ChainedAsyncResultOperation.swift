import Foundation
import OperationTypes
import Synchronization

/// An ``AsyncResultOperation`` that takes its input from an operation it depends on.
///
/// An input given to the initializer wins. Otherwise, at the start, it is the output of the operation named with
/// ``addDependency(supplyingInput:)``, or else of the first dependency, in their order, that succeeded with a value of type
/// `Input`. When there is none because a dependency failed, that failure is the ``upstreamFailure``. It becomes this
/// operation's own, through ``failure(fromUpstream:)``, and `main()` does not run; where the types do not allow that,
/// `main()` runs without input.
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

    /// The failure of the operation that was to supply the input: the reason why there is none. Nil if an input is known, or no
    /// dependency failed. It stays after the finish, also where ``failure(fromUpstream:)`` could not translate it.
    public final var upstreamFailure: (any Error)? { supply.withLock { $0.upstreamFailure } }

    /// - Parameter input: The input; nil has a dependency supply it.
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

    /// The failure with which this operation ends because one that was to supply its input failed: the same, if it is of type
    /// `Failure`; otherwise the one of an `UpstreamFailure`, which holds it. Nil has `main()` run without input, where
    /// ``upstreamFailure`` says why.
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
