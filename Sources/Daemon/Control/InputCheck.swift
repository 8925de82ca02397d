import Control
import Jobs
import Systemd

extension DaemonConfiguration {
    /// Refuses an input whose file no daemon with this configuration would send, before its job is accepted. The open
    /// file is checked again when the job runs.
    func problem(of input: JSONText, kind: String) -> ControlProblem? {
        guard kind == "upload", let file = JSONObject(input)?["file"]?.decodedString,
            !file.hasPrefix(Control.Spool.prefix)
        else { return nil }
        let isBeneath = upload.roots.contains { file.hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") }
        if isBeneath { return nil }
        return ControlProblem(
            .outsideRoots,
            "The daemon may not send \(file.printable()). Move it beneath one of upload.roots, or let halyard copy it into the spool."
        )
    }
}
