import FoundationEssentials
import Glibc
import NIOHTTP1
import Web
import WebSyntax

/// Begins a multipart upload.
///
/// If the response is lost, the store may have begun an upload, which it keeps and charges for. In that case the client
/// lists the uploads that have begun (ListMultipartUploads). It continues its own upload if that is among them, and
/// begins another one only if it is not. If the store gives no clear answer, the attempt ends, so that an attempt
/// leaves at most one unused upload behind.
struct S3Creation: Sendable {
    let s3: S3Upload

    private var transfer: Transfer { s3.transfer }

    /// - Returns: The id of the upload, and whether its parts have checksums.
    func run() async throws(KindFailure) -> (id: String, hasChecksums: Bool) {
        let start = ContinuousClock.now
        var hasChecksums = true
        /// The reason why it is unknown whether an upload has begun; nil if it is known.
        var doubt: KindFailure?
        let id: Result<String, KindFailure> = try await transfer.persisting { () async throws(KindFailure) in
            if let lost = doubt {
                switch try await search(since: start) {
                case .found(let id): return .success(id)
                case .unknown: return .failure(lost)
                case .none: doubt = nil
                }
            }
            if s3.createsOnly, !transfer.isRepeat, try await isTaken() { throw .alreadyExists(transfer.url) }
            do throws(KindFailure) { return .success(try await begin(&hasChecksums)) } catch {
                if error.reason == .connectionLost || error.reason == .timeout { doubt = error }
                throw error
            }
        }
        return (try id.get(), hasChecksums)
    }

    private func begin(_ hasChecksums: inout Bool) async throws(KindFailure) -> String {
        let url = transfer.url.adding(["uploads": ""])
        var headers = s3.objectHeaders
        if hasChecksums { headers.replaceOrAdd(name: "x-amz-checksum-algorithm", value: "SHA256") }
        var reply = try await s3.ask(.POST, url, headers: headers)
        if hasChecksums, S3Answer.refusesChecksums(reply) {
            hasChecksums = false
            reply = try await s3.ask(.POST, url, headers: s3.objectHeaders)
        }
        guard reply.response.isSuccess else { throw s3.failure(reply) }
        guard let id = S3Answer.text("UploadId", in: reply.body), !id.isEmpty else {
            throw KindFailure(
                .protocolError,
                "\(transfer.url.redacted): the server did not create a multipart upload; check that it is an S3 server.",
                url: transfer.url)
        }
        return id
    }

    /// Whether the object exists already. This is checked before anything is sent, but only the completion of the
    /// upload decides.
    private func isTaken() async throws(KindFailure) -> Bool {
        try await s3.ask(.HEAD, transfer.url).response.isSuccess
    }

    // MARK: Uploads that have begun

    private enum Search: Sendable {
        case found(String)
        case none
        /// The store does not list its uploads, or lists more than one candidate.
        case unknown
    }

    /// Looks for an upload that began for exactly this key after `start`, and that has no parts yet.
    private func search(since start: ContinuousClock.Instant) async throws(KindFailure) -> Search {
        do throws(KindFailure) { return try await list(since: start) } catch {
            // After any other failure, it stays unknown what the store has begun.
            guard error.isRetryable else { return .unknown }
            throw error
        }
    }

    private func list(since start: ContinuousClock.Instant) async throws(KindFailure) -> Search {
        for (bucket, key) in places {
            let reply = try await s3.ask(.GET, bucket.adding(["uploads": "", "prefix": key]))
            if KindFailure.status(reply.response, at: bucket).isRetryable { throw s3.failure(reply) }
            guard reply.response.isSuccess, let uploads = S3Answer.uploads(in: reply.body) else { continue }
            let now = reply.response.headers["date"].first.flatMap(HTTPDate.parse) ?? Int64(time(nil))
            // The 2 s allow for rounding, since both times are in whole seconds.
            let oldest = Double(now - (ContinuousClock.now - start).components.seconds - 2)
            var empty: [String] = []
            for upload in uploads where upload.key == key && upload.initiatedAt >= oldest {
                let parts = try await s3.ask(
                    .GET, transfer.url.adding(["uploadId": upload.id, "max-parts": "1"]))
                if parts.response.isSuccess, S3Answer.parts(in: parts.body).isEmpty { empty.append(upload.id) }
            }
            // If there are several, one of them may belong to another job.
            return empty.count > 1 ? .unknown : empty.first.map { .found($0) } ?? .none
        }
        return .unknown
    }

    /// The bucket's URL and the object's key, for both styles of URLs: the object's URL does not show which style it
    /// has.
    private var places: [(bucket: WebURL, key: String)] {
        func place(_ path: String, _ key: Substring) -> (bucket: WebURL, key: String) {
            var bucket = transfer.url
            (bucket.path, bucket.query) = (path, nil)
            return (bucket, String(decoding: PercentEncoding.decode(Array(key.utf8)[...]), as: UTF8.self))
        }
        let whole = transfer.url.path.dropFirst()
        let first = whole.prefix { $0 != "/" }
        let rest = whole.dropFirst(first.count + 1)
        return (rest.isEmpty ? [] : [place("/\(first)", rest)]) + [place("/", whole)]
    }
}
