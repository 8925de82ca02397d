import Hummingbird
import Logging

/// What surrounds one request.
struct ControlContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
        let body: BodyReader
    }

    var coreContext: CoreRequestContextStorage
    let body: BodyReader

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        body = source.body
    }
}
