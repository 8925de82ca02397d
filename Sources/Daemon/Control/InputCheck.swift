import Control
import Jobs
import Kinds
import Systemd

extension DaemonConfiguration {
    /// Refuses what the built-in kinds would refuse whenever the job runs, before it is accepted: an address that is
    /// none, a credential that may not be sent there, and a file that no daemon with this configuration would send. All
    /// are checked again when the job runs.
    func problem(of input: JSONText, kind: String) -> ControlProblem? {
        guard let field = ["unfurl": "url", "enrich": "url", "upload": "to"][kind],
            let fields = JSONObject(input)
        else { return nil }
        if let address = fields[field]?.decodedString {
            do throws(WebURLProblem) {
                let url = try WebURL(parsing: address)
                if kind == "upload", let problem = credentialProblem(fields, url) { return problem }
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

    private func credentialProblem(_ fields: JSONObject, _ url: WebURL) -> ControlProblem? {
        guard let name = fields["credential"]?.decodedString,
            !upload.credentialOrigins.contains(where: { $0.permits(name, at: url) })
        else { return nil }
        return ControlProblem(
            .credentialRefused,
            "The credential \(name.printable()) may not be sent to \(url.origin). Check the name and the address, or let the administrator add \(name.printable())=\(url.origin) to upload.credential_origins."
        )
    }
}
