import Hummingbird
import Logging
import NIOCore

/// The context of one request.
struct ControlContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
        let body: BodyReader
        let closed: StopSignal
        let user: UInt32
        let channel: any Channel
    }

    var coreContext: CoreRequestContextStorage
    let body: BodyReader
    /// Fires when the connection is closed.
    let closed: StopSignal
    /// The caller's user id.
    let user: UInt32
    let channel: any Channel

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        body = source.body
        closed = source.closed
        user = source.user
        channel = source.channel
    }
}
