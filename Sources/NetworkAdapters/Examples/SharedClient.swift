import Foundation
import Kinds
import Operations

extension OutgoingClient {
    /// The client of operations that are given no other. It reaches public addresses at the usual ports only.
    public static let shared = OutgoingClient()
}

/// Why an example operation gave no value.
protocol ExampleError: CancellationFailure {
    static func underlying(error: KindFailure) -> Self
}

extension ExampleError {
    init(_ failure: KindFailure) { self = failure.reason == .cancelled ? .cancelled : .underlying(error: failure) }
}
