import Control
import Jobs

/// A response read whole.
struct Answer: Sendable {
    var status: UInt
    var body: [UInt8]
    /// The field that names the daemon's database.
    var database: String?
    /// Whether the connection can carry another exchange.
    var keepsConnection = false
    /// Why the body is not whole; only where a part of it is of use.
    var failure: (any Error)?

    var isSuccess: Bool { (200..<300).contains(status) }

    /// The problem that a response without success carries.
    var problem: ControlProblem {
        do {
            return try ControlProblem(json: JSONText(checking: body))
        } catch {
            return ControlProblem(
                .internal,
                "What listens on the socket answered \(status) without saying why. Is it halyardd, and of this release?"
            )
        }
    }

    /// The value of a response; throws the problem of one without success.
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
            "The daemon's answer is not understood (\(error)). Use halyard and halyardd of the same release.")
    }
}
