import NIOHTTP1
import Web
import WebSyntax

/// Deletes the server's part of an upload that nobody will finish. Otherwise the server would keep it, and charge for
/// it.
struct Abandonment: Sendable {
    let client: OutgoingClient
    let configuration: UploadConfiguration

    /// Asks the server to delete the upload, for at most three seconds. Failures are ignored, since the caller reports
    /// why the upload ended.
    ///
    /// - Parameter insists: Whether to ask again if the server is not ready to delete the upload.
    /// - Returns: Whether nothing is left to do: the server no longer has the upload, or cannot delete uploads.
    @discardableResult func abandon(_ checkpoint: Checkpoint, insists: Bool = true) async -> Bool {
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
        var headers: HTTPHeaders = ["accept": "*/*"]
        if checkpoint.style == "s3" {
            // Halyard writes only valid URLs, so a checkpoint with an invalid URL was not written by Halyard.
            guard let target = try? WebURL(parsing: checkpoint.target),
                let secret = try secret(for: target, of: checkpoint),
                let signature = S3Signature(secret: secret, region: checkpoint.region ?? S3Signature.usualRegion)
            else { return nil }
            let url = target.adding(["uploadId": checkpoint.upload])
            return OutgoingRequest(
                method: .DELETE, url: url, headers: signature.sign(.DELETE, url, headers: headers), isGentle: false)
        }
        // As with the target above, Halyard writes only valid URLs.
        guard let url = try? WebURL(parsing: checkpoint.upload) else { return nil }
        if let secret = try secret(for: url, of: checkpoint) {
            let header = checkpoint.credentialHeader ?? .authorization
            headers.add(name: header.name, value: header.value(secret))
        }
        if let dialect = ResumableDialect(rawValue: checkpoint.style) { headers.add(contentsOf: dialect.version) }
        return OutgoingRequest(method: .DELETE, url: url, headers: headers, isGentle: false)
    }

    private func secret(for url: WebURL, of checkpoint: Checkpoint) throws(KindFailure) -> String? {
        guard let name = checkpoint.credential else { return nil }
        return try configuration.secret(named: name, for: url)
    }
}
