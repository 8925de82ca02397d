import NIOHTTP1

/// Takes back what a server holds of an upload that nobody will finish: it would keep it, and charge for it.
struct Abandonment: Sendable {
    let client: OutgoingClient
    let configuration: UploadConfiguration

    /// Asks the server to delete it. Best effort, for at most three seconds: what led here is what is told.
    ///
    /// - Parameter insists: Whether a server that is not ready is asked again.
    /// - Returns: Whether the server no longer has it, or knows no way to delete it.
    @discardableResult func abandon(_ checkpoint: Checkpoint, insists: Bool = true) async -> Bool {
        let work: @Sendable () async throws(KindFailure) -> Bool = { () async throws(KindFailure) in
            guard let request = try request(for: checkpoint) else { return false }
            while true {
                let status = try await client.exchange(request) { response throws(KindFailure) in
                    await response.discard()
                    return response.status
                }
                // The server may not have noticed yet that the connection of the last piece is gone.
                guard insists, status == 409 || status == 423 || status >= 500, status != 501 else {
                    return status < 300 || [404, 405, 410, 501].contains(status)
                }
                do { try await Task.sleep(for: .milliseconds(300)) } catch { throw .cancelled }
            }
        }
        // Not a child: it runs although the upload was cancelled. Awaited right here.
        return await Task {
            // Best effort: the upload is over either way, and the server forgets what nobody goes on with.
            (try? await withDeadline(.seconds(3), failure: .cancelled, work)) ?? false
        }.value
    }

    private func request(for checkpoint: Checkpoint) throws(KindFailure) -> OutgoingRequest? {
        var headers: HTTPHeaders = ["accept": "*/*"]
        if checkpoint.style == "s3" {
            // An address that cannot be read was not written by us.
            guard let target = try? WebURL(parsing: checkpoint.target),
                let secret = try secret(for: target, of: checkpoint),
                let signature = S3Signature(secret: secret, region: checkpoint.region ?? S3Signature.usualRegion)
            else { return nil }
            let url = target.adding(["uploadId": checkpoint.upload])
            return OutgoingRequest(
                method: .DELETE, url: url, headers: signature.sign(.DELETE, url, headers: headers), isGentle: false)
        }
        // As above.
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
