import Foundation
import Kinds
import Operations
import Web

extension OutgoingClient {
    /// The default client of the operations. It reaches only public addresses, at the usual ports.
    public static let shared = OutgoingClient()
}

/// The failure of an example operation.
protocol ExampleError: CancellationFailure {
    static func underlying(error: KindFailure) -> Self
}

extension ExampleError {
    init(_ failure: KindFailure) { self = failure.reason == .cancelled ? .cancelled : .underlying(error: failure) }
}
