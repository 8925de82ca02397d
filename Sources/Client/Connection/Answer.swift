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

    /// The body of a successful response. Throws the problem of any other response.
    var successBody: [UInt8] {
        get throws(ControlProblem) {
            guard isSuccess else { throw problem }
            return body
        }
    }
}
