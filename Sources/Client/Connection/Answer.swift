import ControlProtocol
import Jobs

/// A complete response.
struct Answer: Sendable {
    var status: UInt
    var body: [UInt8]
    /// The value of the field that names the daemon's database.
    var database: String?
    /// Whether the connection can carry another exchange.
    var keepsConnection = false
    /// Why the body is incomplete. Set only for a caller that accepts an incomplete body.
    var failure: (any Error)?

    var isSuccess: Bool { (200..<300).contains(status) }

    /// The problem in the body of a response that reports a failure.
    var problem: ControlProblem {
        do {
            return try ControlProblem(json: JSONText(checking: body))
        } catch {
            return ControlProblem(
                .internal,
                "The process listening on the socket responded with status \(status) and no reason. Check that it is halyardd of this release."
            )
        }
    }

    /// Decodes the value of a successful response. Throws the problem of any other response.
    func value<Value: WireValue>(_ type: Value.Type = Value.self) throws(ControlProblem) -> Value {
        guard isSuccess else { throw problem }
        return try decode(body)
    }
}

func decode<Value: WireValue>(_ bytes: [UInt8], as type: Value.Type = Value.self) throws(ControlProblem) -> Value {
    do {
        return try Value(json: JSONText(trusted: bytes))
    } catch {
        throw ControlProblem(
            .internal,
            "The daemon's response is invalid (\(error)). Use halyard and halyardd of the same release.")
    }
}
