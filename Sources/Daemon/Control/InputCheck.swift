import ControlProtocol
import Jobs
import Kinds
import Systemd

extension DaemonConfiguration {
    /// Returns the reason why a built-in kind would refuse an input in every run, so that the job is refused
    /// before it is accepted. The check uses the kind's own rules, which are checked again when the job runs.
    func problem(of planned: PlannedInput) -> ControlProblem? {
        switch planned.kind {
        case Kinds.Unfurl.name, Kinds.Enrich.name:
            return pageRefusal(of: planned).map { ControlProblem(.invalidInput, $0.message) }
        case Kinds.Upload.name: return uploadRules.refusal(of: planned).map { problem(of: $0, planned.input) }
        default: return nil
        }
    }

    /// Returns the problem of the file that an input names; see ``UploadConfiguration/refusal(ofFile:)``. It
    /// may block.
    func problem(ofFileIn planned: PlannedInput) -> ControlProblem? {
        file(in: planned).flatMap(uploadRules.refusal(ofFile:)).map { ControlProblem(.invalidInput, $0.message) }
    }

    /// Returns the file that the job would open; nil if it names none or names a file in the spool.
    func file(in planned: PlannedInput) -> String? {
        guard planned.kind == Kinds.Upload.name, planned.stage != .definition else { return nil }
        let file = JSONObject(planned.input)?["file"]?.decodedString
        return file?.hasPrefix("spool:") == false ? file : nil
    }

    private var uploadRules: UploadConfiguration {
        var rules = UploadConfiguration()
        rules.roots = upload.roots
        rules.credentialOrigins = upload.credentialOrigins
        return rules
    }

    private func problem(of failure: KindFailure, _ input: JSONText) -> ControlProblem {
        switch failure.reason {
        case .credentialRefused: ControlProblem(.credentialRefused, failure.message)
        case .fileRefused:
            ControlProblem(
                .outsideRoots,
                "The daemon may not send \((JSONObject(input)?["file"]?.decodedString ?? "").printable()). Move it into a folder in upload.roots, or let halyard copy it into the spool."
            )
        default: ControlProblem(.invalidInput, failure.message)
        }
    }
}
