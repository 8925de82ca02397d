import FoundationEssentials
import Glibc
import NIOHTTP1

/// Begins an upload in parts.
///
/// The store keeps, and charges for, what it has begun although its answer was lost. So after a lost answer it is asked for what
/// is begun (ListMultipartUploads): what is ours is gone on with, and only what is not there is begun again. Where it does not
/// tell, the attempt ends: at most one is left behind by an attempt.
struct S3Creation: Sendable {
    let s3: S3Upload

    private var transfer: Transfer { s3.transfer }

    /// - Returns: The upload's id, and whether its parts have checksums.
    func run() async throws(KindFailure) -> (id: String, hasChecksums: Bool) {
        let start = ContinuousClock.now
        var hasChecksums = true
        /// Why it is not known whether it was begun.
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
                .protocolError, "\(transfer.url.redacted): the server began no multipart upload; it is no S3 server.",
                url: transfer.url)
        }
        return id
    }

    /// Asked before anything is sent; only the completion decides.
    private func isTaken() async throws(KindFailure) -> Bool {
        try await s3.ask(.HEAD, transfer.url).response.isSuccess
    }

    // MARK: What is begun

    private enum Search: Sendable {
        case found(String)
        case none
        /// The store does not tell.
        case unknown
    }

    /// Looks for what is begun for this very key, since then, and has no parts yet.
    private func search(since start: ContinuousClock.Instant) async throws(KindFailure) -> Search {
        do throws(KindFailure) { return try await list(since: start) } catch {
            // Anything else is a store that does not tell.
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
            // Both are rounded to seconds.
            let oldest = Double(now - (ContinuousClock.now - start).components.seconds - 2)
            var empty: [String] = []
            for upload in uploads where upload.key == key && upload.initiatedAt >= oldest {
                let parts = try await s3.ask(
                    .GET, transfer.url.adding(["uploadId": upload.id, "max-parts": "1"]))
                if parts.response.isSuccess, S3Answer.parts(in: parts.body).isEmpty { empty.append(upload.id) }
            }
            // Of several one may be another job's.
            return empty.count > 1 ? .unknown : empty.first.map { .found($0) } ?? .none
        }
        return .unknown
    }

    /// The bucket's address and the object's key, in both styles: which one it is, the address does not tell.
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
