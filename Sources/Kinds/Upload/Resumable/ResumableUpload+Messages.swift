import FoundationEssentials
import NIOHTTP1
import Web
import WebSyntax

// MARK: Requests

extension ResumableUpload {
    private func request(_ method: HTTPMethod, _ url: WebURL) -> UploadRequest {
        var request = UploadRequest(method, url, plan.headers)
        request.headers.add(contentsOf: dialect.version)
        return request
    }

    var offsetRequest: UploadRequest { request(.HEAD, location) }

    var creationRequest: UploadRequest {
        var request = request(.POST, plan.url)
        request.headers.replaceOrAdd(name: "upload-length", value: "\(plan.size)")
        switch dialect {
        case .tus:
            let metadata = [("filename", plan.fileName), ("filetype", plan.contentType)].filter { !$0.1.isEmpty }
                .map { "\($0.0) \(Data($0.1.utf8).base64EncodedString())" }.joined(separator: ",")
            request.headers.replaceOrAdd(name: "upload-metadata", value: metadata)
        case .draft:
            request.headers.replaceOrAdd(name: "upload-complete", value: "?0")
            request.headers.replaceOrAdd(name: "content-type", value: plan.contentType)
            if plan.createsOnly { request.headers.replaceOrAdd(name: "if-none-match", value: "*") }
            if let expected = plan.expected {
                request.headers.replaceOrAdd(name: "repr-digest", value: ServerDigest.field(expected))
            }
        }
        return request
    }

    /// A request with one piece. It is never repeated blindly, since only the server knows how much has arrived.
    func pieceRequest(_ range: Range<Int64>, checksum: [UInt8]?, extending digest: RunningDigest) -> UploadRequest {
        var request = request(.PATCH, location)
        request.content = .piece(UploadRequest.Piece(range: range))
        request.digest = digest
        request.retries = .none
        request.headers.replaceOrAdd(name: "upload-offset", value: "\(range.lowerBound)")
        request.headers.replaceOrAdd(name: "content-type", value: dialect.pieceType)
        switch dialect {
        case .tus:
            guard let checksum, let algorithm = offer.checksum else { break }
            let value = "\(algorithm.rawValue) \(Data(checksum).base64EncodedString())"
            request.headers.replaceOrAdd(name: "upload-checksum", value: value)
        case .draft:
            let isLast = range.upperBound == plan.size
            request.headers.replaceOrAdd(name: "upload-complete", value: isLast ? "?1" : "?0")
            request.headers.replaceOrAdd(name: "want-repr-digest", value: "sha-256=10")
            request.headers.replaceOrAdd(name: "content-digest", value: ServerDigest.field(checksum ?? []))
        }
        return request
    }
}

// MARK: Responses

extension ResumableUpload {
    /// Returns the URL of the upload; nil if the headers do not contain it.
    func location(in headers: HTTPHeaders) throws(KindFailure) -> WebURL? {
        guard let text = headers["location"].first else { return nil }
        let location: WebURL
        do throws(WebURLProblem) { location = try WebURL(parsing: text, base: plan.url) } catch {
            throw .invalidURL(error, field: "Location")
        }
        // The pieces carry the credential and the user's headers, which must not reach another server. Without these,
        // the pieces may go to another server, but not to a less secure one.
        let isBare = plan.credential == nil && plan.headers.allSatisfy { $0.name == "accept" }
        guard location.origin == plan.url.origin || isBare && location.scheme == plan.url.scheme else {
            throw KindFailure(
                .redirectRefused,
                "\(plan.url.redacted): the upload would send the credential or headers meant for this server to another, \(location.origin); "
                    + "use that server's address in `to`, or send no credential and no headers.", url: location)
        }
        return location
    }

    /// Returns the progress in the response to ``offsetRequest``; nil if the server no longer knows the upload.
    func progress(in reply: UploadReply) throws(KindFailure) -> Progress? {
        if [403, 404, 410].contains(reply.status) { return nil }
        guard reply.head.isSuccess else {
            let failure = KindFailure.status(reply.head, at: location)
            // The upload is locked: the server may not have noticed yet that the connection broke.
            guard reply.status == 423 || reply.status == 409 else { throw failure }
            throw KindFailure(.httpStatus, failure.message, isRetryable: true, status: reply.status, url: location)
        }
        guard let offset = try offset(in: reply) else {
            throw KindFailure(
                .protocolError, at: location,
                "the server does not report how many bytes of the upload it has; the server must be fixed.",
                status: reply.status)
        }
        let isDone = dialect == .tus ? offset == plan.size : isComplete(reply) == true
        return try progress(offset, isComplete: isDone, reply)
    }

    /// Returns the progress that a successful response to a piece reports; nil if the server must be asked for it (U1).
    func reportedProgress(in reply: UploadReply, isLast: Bool) throws(KindFailure) -> Progress? {
        let offset = try offset(in: reply)
        switch dialect {
        case .tus:
            guard let offset else { return nil }
            return try progress(offset, isComplete: offset == plan.size, reply)
        case .draft:
            // The final response comes from the target, and need not contain an offset.
            if isComplete(reply) == true {
                return try progress(offset ?? (isLast ? plan.size : 0), isComplete: true, reply)
            }
            // Without this header, it is unknown whether the last piece completed the upload.
            guard let offset, !isLast || isComplete(reply) == false else { return nil }
            return try progress(offset, isComplete: false, reply)
        }
    }

    private func progress(
        _ offset: Int64, isComplete: Bool, _ reply: UploadReply
    ) throws(KindFailure) -> Progress {
        guard offset <= plan.size else {
            throw KindFailure(
                .sourceChanged, at: location,
                "the server has more bytes than the file contains; enqueue the upload as a new job.")
        }
        guard !isComplete || offset == plan.size else {
            throw KindFailure(
                .protocolError, at: location,
                "the server reports the upload as complete with \(offset) of \(plan.size) bytes; the server "
                    + "must be fixed.", status: reply.status)
        }
        return Progress(offset: offset, completion: isComplete ? reply : nil)
    }

    private func offset(in reply: UploadReply) throws(KindFailure) -> Int64? {
        guard let text = reply.headers["upload-offset"].first else { return nil }
        guard let offset = Int64(text.trimmingSpaces), offset >= 0 else {
            throw KindFailure(
                .protocolError, at: reply.head.url,
                "the server's Upload-Offset is not a number; the server must be fixed.")
        }
        return offset
    }

    /// The value of `Upload-Complete`; nil if the header is missing or not a Boolean.
    private func isComplete(_ reply: UploadReply) -> Bool? {
        switch reply.headers["upload-complete"].first?.trimmingSpaces {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    // MARK: Failures

    /// The failure if the target has received the whole upload and refuses it; nil for other responses. The draft's error
    /// response then says that the upload is complete.
    func refusalOfTheWhole(_ reply: UploadReply) -> KindFailure? {
        guard dialect == .draft, !reply.head.isSuccess, isComplete(reply) == true else { return nil }
        return reply.status == 412 && plan.createsOnly ? .alreadyExists(plan.url) : .status(reply.head, at: plan.url)
    }

    /// The failure for content that exceeds the server's limit; nil if it does not.
    var tooLarge: KindFailure? {
        offer.maxSize.flatMap { $0 > 0 && plan.size > $0 ? tooLarge(for: $0) : nil }
    }

    func tooLarge(for limit: Int64?) -> KindFailure {
        KindFailure(
            .tooLarge, at: plan.url,
            "\(plan.size) bytes are more than the server accepts"
                + (limit.map { " (\($0))" } ?? "") + "; raise the server's limit, or send less.",
            status: limit == nil ? 413 : nil)
    }

    var expired: KindFailure {
        KindFailure(
            .uploadExpired, at: location,
            "the server no longer has the upload; the next attempt starts from the beginning.", isRetryable: true)
    }

    func stuck(_ status: Int?) -> KindFailure {
        KindFailure(
            status == 460 ? .checksumMismatch : .connectionLost, at: location,
            "the server did not accept the next bytes (\(status.map { "\($0)" } ?? "no response")); try again "
                + "later.", isRetryable: true, status: status)
    }
}
