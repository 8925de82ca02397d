import ControlProtocol
import HTTPTypes
import HummingbirdCore
import Jobs

extension RouteTable {
    /// Every path of the socket. A test checks that `openapi.json` describes the same paths.
    init(control: any JobControl, answers: Answers, limits: ServerLimits, stop: StopSignal) {
        self.init()
        for route in Route.all(of: control) {
            guard let method = HTTPRequest.Method(rawValue: route.method.rawValue) else { preconditionFailure() }
            on(method, route.path) { request, context in
                let answer = try await route.answer(RouteRequest(request, context))
                return try await answers.response(answer, to: request, context)
            }
        }
        EnqueueRoutes(control: control).add(to: &self)
        WatchRoutes(control: control, memory: answers.memory, stop: stop).add(to: &self)
        FileRoutes(control: control, memory: answers.memory, limits: limits, stop: stop).add(to: &self)
        on(.post, "spool") { _, context in
            let file = try await control.spool(context.body.chunks, size: context.body.length)
            return Response(bytes: SpoolAnswer(file: file).json.line, status: .created)
        }
        on(.get, "openapi.json") { _, _ in Response(bytes: PackageResources.openapi_json + [UInt8(ascii: "\n")]) }
    }
}

extension RouteRequest {
    init(_ request: Request, _ context: ControlContext) {
        self.init(
            parameter: percentDecoded(context.parameter),
            items: request.uri.queryParameters.map { (String($0.key), String($0.value)) },
            key: request.headers[.idempotencyKey], body: context.body.collect)
    }
}

/// Decodes percent escapes. A percent sign that begins no escape stays unchanged.
private func percentDecoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2,
            // `UInt8(_:radix:)` accepts a sign.
            rest.first != UInt8(ascii: "+"), rest.first != UInt8(ascii: "-"),
            let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        {
            bytes.append(escaped)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
