import Crypto
import FoundationEssentials
import Jobs
import Web
import WebSyntax

/// Checks an input before anything is sent. The input of a job is checked in the same way when the job is enqueued and
/// when it runs.
extension Upload.Input {
    /// Refuses an input that would fail with any server, any file and any configuration.
    func check(at stage: PlannedInput.Stage) throws(KindFailure) {
        try Upload.check(timeout?.duration.milliseconds, of: "timeout")
        try Upload.check(maxRate?.bytes, of: "max_rate")
        _ = try target
        _ = try Upload.headers(of: self)
        try checkCredential(at: stage)
        try checkForm()
        _ = try digest
        if let contentType, !Upload.isMediaType(contentType) {
            throw .invalid("content_type", "must be a media type such as image/png")
        }
        if let file { try UploadConfiguration.checkName(of: file) }
        if file != nil, body != nil {
            throw .invalid("body", "cannot be given together with `file`; remove one of them")
        }
        if stage == .whole, file == nil, body == nil, kept == nil {
            throw .invalid("file", "is missing; give a file or a body, or let a dependency provide the body")
        }
        if createOnly == true, style == .form || style == .tus || method == .post {
            throw .invalid(
                "create_only",
                "works only with PUT, s3 and resumable, because each POST creates something new; remove it")
        }
        guard stage != .definition, style == .s3 else { return }
        if credential == nil { throw .missingSigner }
        try checkKey()
    }

    /// Refuses a URL without an object key, since S3 would apply the request to the bucket.
    private func checkKey() throws(KindFailure) {
        let target = try target
        let parts = target.path.split(separator: "/")
        // The bucket may be named by the first label of the host, unless the host is an IP address or has only one
        // label.
        let isBucketInPath =
            switch target.host {
            case .address: true
            case .domain(let name): !name.contains(".")
            }
        if parts.count < (isBucketInPath ? 2 : 1) || target.path.hasSuffix("/") {
            throw .invalid("to", "must be the address of an object; add the object's key after the bucket")
        }
    }

    var target: WebURL {
        get throws(KindFailure) {
            let url = try WebURL(input: to, field: "to")
            if url.hadUserinfo {
                throw .invalid("to", "must not contain a user name or password; use a credential instead")
            }
            return url
        }
    }

    /// SHA-256 of all fields, in hexadecimal.
    var fingerprint: String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Strings, numbers and booleans can always be encoded. Without a fingerprint an upload would only be sent
        // again.
        return (try? encoder.encode(self)).map { SHA256.hash(data: $0).hexadecimal }
    }

    var digest: [UInt8]? {
        get throws(KindFailure) {
            guard let sha256 else { return nil }
            let digest = sha256.bytesFromHexadecimal
            guard sha256.utf8.count == 64, digest.count == 32 else {
                throw .invalid("sha256", "must be 64 hexadecimal digits, as sha256sum prints them")
            }
            return digest
        }
    }
}

extension Upload {
    /// Refuses an input that would fail with any server and any content of the files.
    public func refusal(of planned: PlannedInput) -> InputRefusal? {
        do throws(KindFailure) {
            let input = try Input(planned)
            try input.check(at: planned.stage)
            // A job may name another credential or file, and the administrator may permit more of them.
            if planned.stage == .definition { return nil }
            if let credential = input.credential { try configuration.permit(credential, at: input.target) }
            if let file = input.file, SpooledFile(file) == nil, configuration.root(of: file) == nil {
                throw .outsideRoots(file)
            }
            return nil
        } catch {
            let reason: InputRefusal.Reason =
                switch error.reason {
                case .credentialRefused: .credentialRefused
                case .fileRefused: .fileOutsideRoots
                default: .invalid
                }
            return InputRefusal(error.message, reason: reason)
        }
    }

    /// Checks that the file is not a folder, a device or a pipe, and not behind a symbolic link.
    public func blockingCheck(of planned: PlannedInput) -> (@Sendable () -> InputRefusal?)? {
        guard planned.stage != .definition, let file = JSONObject(planned.input)?["file"]?.decodedString,
            SpooledFile(file) == nil
        else { return nil }
        return { [configuration] in configuration.refusal(ofFile: file).map { InputRefusal($0.message) } }
    }
}

extension KindFailure {
    static let missingSigner = invalid("credential", "must name a credential of the form ACCESS:SECRET for s3")
}

extension Upload.Input {
    fileprivate init(_ planned: PlannedInput) throws(KindFailure) {
        var planned = planned
        // The job will name the target; until then, an arbitrary URL is checked.
        if planned.stage == .definition, var fields = JSONObject(planned.input), fields["to"]?.isNull ?? true {
            fields["to"] = JSONText(string: "http://localhost/")
            planned.input = fields.text
        }
        do throws(InputDecodingProblem) {
            self = try planned.decoded(as: Upload.Input.self)
        } catch {
            throw KindFailure(.invalidInput, "The input is invalid: \(error.description).")
        }
    }
}
