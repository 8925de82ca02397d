import Crypto
import FoundationEssentials
import Jobs

/// What can be said against an input before anything is sent. A job is judged by the same when it is enqueued and when it
/// runs.
extension Upload.Input {
    /// Refuses what no server, no file and no configuration could make good.
    func check(at stage: PlannedInput.Stage) throws(KindFailure) {
        try Upload.check(timeoutMs, of: "timeout_ms")
        try Upload.check(maxBytesPerSecond, of: "max_bytes_per_second")
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
            throw .invalid("body", "cannot be given together with `file`; leave one out")
        }
        if stage == .whole, file == nil, body == nil {
            throw .invalid("file", "is missing; name a file, give a body, or let a dependency give it")
        }
        if createOnly == true, style == .form || style == .tus || method == .post {
            throw .invalid(
                "create_only",
                "goes with PUT, s3 and resumable only: a POST makes something new each time; leave it out")
        }
        guard stage != .definition, style == .s3 else { return }
        if credential == nil { throw .missingSigner }
        try checkKey()
    }

    /// Without a key S3 would take the request for one about the bucket.
    private func checkKey() throws(KindFailure) {
        let target = try target
        let parts = target.path.split(separator: "/")
        // A bucket may be the first label of the host, but neither of an address nor of a single label.
        let isBucketInPath =
            switch target.host {
            case .address: true
            case .domain(let name): !name.contains(".")
            }
        if parts.count < (isBucketInPath ? 2 : 1) || target.path.hasSuffix("/") {
            throw .invalid("to", "must be the address of an object: name the key behind the bucket")
        }
    }

    var target: WebURL {
        get throws(KindFailure) {
            let url = try WebURL(input: to, field: "to")
            if url.hadUserinfo { throw .invalid("to", "must not hold a user or password; name a credential instead") }
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

extension UploadConfiguration {
    /// Why a run would refuse an input whatever happens until then; nil where it may work. Looks at no file: see
    /// ``refusal(ofFile:)``.
    public func refusal(of planned: PlannedInput) -> KindFailure? {
        do throws(KindFailure) {
            let input = try Upload.Input(planned)
            try input.check(at: planned.stage)
            // A job may name other ones, and the administrator permit more.
            if planned.stage == .definition { return nil }
            if let credential = input.credential { try permit(credential, at: input.target) }
            if let file = input.file, Self.spoolName(in: file) == nil, root(of: file) == nil {
                throw .outsideRoots(file)
            }
            return nil
        } catch {
            return error
        }
    }
}

extension KindFailure {
    static let missingSigner = invalid("credential", "must name a credential of the form ACCESS:SECRET for s3")
}

extension Upload.Input {
    fileprivate init(_ planned: PlannedInput) throws(KindFailure) {
        var planned = planned
        // Until a job says where to, any address will do.
        if planned.stage == .definition, var fields = JSONObject(planned.input), fields["to"]?.isNull ?? true {
            fields["to"] = JSONText(string: "http://localhost/")
            planned.input = fields.text
        }
        do throws(InputMismatch) {
            self = try planned.decoded(as: Upload.Input.self)
        } catch {
            throw KindFailure(.invalidInput, "The input cannot be used: \(error.description).")
        }
    }
}
