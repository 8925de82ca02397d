import Control
import Jobs
import Kinds
import Systemd

extension DaemonConfiguration {
    /// Refuses what the built-in kinds would refuse whenever the job runs, before it is accepted: an address that is
    /// none, and a file that no daemon with this configuration would send. Both are checked again when the job runs.
    func problem(of input: JSONText, kind: String) -> ControlProblem? {
        guard let field = ["unfurl": "url", "enrich": "url", "upload": "to"][kind],
            let fields = JSONObject(input)
        else { return nil }
        if let address = fields[field]?.decodedString {
            do throws(WebURLProblem) {
                _ = try WebURL(parsing: address)
            } catch {
                return ControlProblem(.invalidInput, "\"\(field)\": \(error). Give an http or https address.")
            }
        }
        guard kind == "upload", let file = fields["file"]?.decodedString, !file.hasPrefix(Control.Spool.prefix)
        else { return nil }
        let isBeneath = upload.roots.contains { file.hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") }
        if isBeneath { return nil }
        return ControlProblem(
            .outsideRoots,
            "The daemon may not send \(file.printable()). Move it beneath one of upload.roots, or let halyard copy it into the spool."
        )
    }
}
