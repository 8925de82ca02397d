import NIOHTTP1
import Web
import WebSyntax

/// Deletes the server's part of an upload that will not be continued. Otherwise the server would keep it, and charge for
/// it.
struct UploadDeletion: Sendable {
    let client: OutgoingClient
    let configuration: UploadConfiguration

    /// Asks the server to delete the upload, for at most three seconds. Failures are ignored, since the caller reports
    /// why the upload ended.
    ///
    /// - Parameter insists: Whether to ask again if the server is not ready to delete the upload.
    /// - Returns: Whether nothing is left to do: the server no longer has the upload, or cannot delete uploads.
    @discardableResult func delete(_ checkpoint: Checkpoint, insists: Bool = true) async -> Bool {
        let work: @Sendable () async throws(KindFailure) -> Bool = { () async throws(KindFailure) in
            guard let request = try request(for: checkpoint) else { return false }
            while true {
                let status = try await client.exchange(request) { response throws(KindFailure) in
                    await response.discard()
                    return response.status
                }
                // The server may not have noticed yet that the connection that carried the last piece is closed.
                guard insists, status == 409 || status == 423 || status >= 500, status != 501 else {
                    return status < 300 || [404, 405, 410, 501].contains(status)
                }
                do { try await Task.sleep(for: .milliseconds(300)) } catch { throw .cancelled }
            }
        }
        // Not a child task, so that it runs even if the upload was cancelled. It is awaited right here.
        return await Task {
            // An error is harmless: the upload is over either way, and the server forgets an upload that nobody
            // continues.
            (try? await withDeadline(.seconds(3), failure: .cancelled, work)) ?? false
        }.value
    }

    private func request(for checkpoint: Checkpoint) throws(KindFailure) -> OutgoingRequest? {
        let isSigned = checkpoint.style == "s3"
        // Halyard writes only valid URLs, so a checkpoint with an invalid URL was not written by Halyard.
        guard let url = try? WebURL(parsing: isSigned ? checkpoint.target : checkpoint.upload) else { return nil }
        let secret = try checkpoint.credential.map { name throws(KindFailure) in
            try configuration.secret(named: name, for: url)
        }
        var request = UploadRequest(.DELETE, url, ["accept": "*/*"])
        if isSigned {
            let region = checkpoint.region ?? S3Signature.usualRegion
            guard let signature = secret.flatMap({ S3Signature(secret: $0, region: region) }) else { return nil }
            request.url = url.adding(["uploadId": checkpoint.upload])
            request.headers = signature.sign(request)
        } else {
            let header = checkpoint.credentialHeader ?? .authorization
            if let secret { request.headers.add(name: header.name, value: header.value(secret)) }
            if let dialect = ResumableDialect(rawValue: checkpoint.style) {
                request.headers.add(contentsOf: dialect.version)
            }
        }
        return OutgoingRequest(method: .DELETE, url: request.url, headers: request.headers, isGentle: false)
    }
}
