import Foundation
import OperationTypes
import Synchronization

/// An ``AsyncResultOperation`` that takes its input from an operation it depends on.
///
/// An input given to the initializer wins. Otherwise, at the start, it is the output of the operation named with
/// ``addDependency(supplyingInput:)``, or else of the first dependency, in their order, that succeeded with a value of type
/// `Input`. When there is none because a dependency failed, that failure becomes this operation's, through
/// ``failure(fromUpstream:)``, and `main()` does not run.
///
/// SAFETY: What this class adds is a mutex.
open class ChainedAsyncResultOperation<Input: Sendable, Output: Sendable, Failure: Error>:
    AsyncResultOperation<Output, Failure>, @unchecked Sendable
{
    private struct Supply: Sendable {
        var input: Input?
        var supplier: (@Sendable () -> (input: Input?, failure: (any Error)?))?
    }

    private let supply: Mutex<Supply>

    /// The input, once it is known. `main()` sees nil when nobody supplied one.
    public final var input: Input? { supply.withLock { $0.input } }

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
    /// `Failure`. Nil has `main()` run without input.
    open func failure(fromUpstream error: any Error) -> Failure? { error as? Failure }

    override func prepare() -> Bool {
        let (known, supplier) = supply.withLock { ($0.input, $0.supplier) }
        guard known == nil else { return true }
        let (input, error) = supplier?() ?? dependencies.firstOutput(Input.self)
        if let input {
            supply.withLock { $0.input = input }
        } else if let error, let failure = failure(fromUpstream: error) {
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
