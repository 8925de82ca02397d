import Hummingbird
import Logging
import NIOCore

/// What surrounds one request.
struct ControlContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
        let body: BodyReader
        let closed: StopSignal
        let limitedUser: UInt32?
        let eventLoop: any EventLoop
    }

    var coreContext: CoreRequestContextStorage
    let body: BodyReader
    /// Fires when the connection is gone.
    let closed: StopSignal
    /// Who asks; nil for one that the limits of a user do not bind.
    let limitedUser: UInt32?
    /// The connection's.
    let eventLoop: any EventLoop

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        body = source.body
        closed = source.closed
        limitedUser = source.limitedUser
        eventLoop = source.eventLoop
    }
}
