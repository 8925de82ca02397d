import AsyncHTTPClient
import Jobs
import NIOCore
import NIOHTTP1
import OperationTypes

/// Sends a file, or what a dependency gave, to a web server with PUT or POST.
///
/// Streams at constant memory. Running again sends everything again: with PUT that leaves the same state on the server, with
/// POST it is for the server to recognise.
public struct Upload: Kind {
    public typealias Failure = KindFailure
    public typealias Accepted = AnyOutput

    public static let name = "upload"
    public static let summary = "Sends a file, or the output of another job, to a web server"

    let client: OutgoingClient
    let configuration: UploadConfiguration

    public init(client: OutgoingClient, configuration: UploadConfiguration = UploadConfiguration()) {
        self.client = client
        self.configuration = configuration
    }

    public func run(_ input: Input, context: OperationContext) async throws(KindFailure) -> Output {
        let first = try target(of: input)
        let headers = try headers(of: input)
        let source = try await source(of: input)
        let deadline = try input.timeoutMs.map { milliseconds throws(KindFailure) in
            guard milliseconds > 0 else { throw .invalid("timeout_ms", "must be above 0; leave it out for no limit") }
            return Duration.milliseconds(milliseconds)
        }
        let start = ContinuousClock.now
        let method = input.method ?? .put
        return try await withDeadline(deadline, failure: .timeout("the upload", after: deadline ?? .zero, at: first)) {
            () async throws(KindFailure) in
            var url = first
            for _ in 0...5 {
                switch try await send(source, to: url, method: method, headers: headers, context: context) {
                case .done(var output):
                    output.durationMs = (ContinuousClock.now - start).milliseconds
                    return output
                case .redirected(let next):
                    guard next.origin == first.origin else {
                        throw KindFailure(
                            .redirectRefused,
                            "\(url.redacted): the server points to another one, \(next.origin); name that address in `to`.",
                            url: next)
                    }
                    url = next
                }
            }
            throw KindFailure(
                .tooManyRedirects, "\(url.redacted): more than 5 redirects; name the final address in `to`.", url: url)
        }
    }

    private enum Answer: Sendable {
        case done(Output)
        case redirected(WebURL)
    }

    private func send(
        _ source: UploadSource, to url: WebURL, method: Input.Method, headers: HTTPHeaders, context: OperationContext
    ) async throws(KindFailure) -> Answer {
        let progress = UploadProgress(total: source.size, context: context)
        let stream = source.stream(threads: client.threads, progress: progress)
        let request = OutgoingRequest(
            method: method == .put ? .PUT : .POST, url: url, headers: headers,
            body: source.size == 0 ? nil : .stream(stream, length: .known(source.size)), isGentle: false)
        do throws(KindFailure) {
            return try await client.exchange(request) { response throws(KindFailure) in
                await response.discard()
                if response.status == 307 || response.status == 308 {
                    return .redirected(try Redirect.target(of: response))
                }
                guard response.isSuccess else {
                    if (300..<400).contains(response.status) {
                        throw KindFailure(
                            .redirectRefused,
                            "\(url.redacted): the server answered \(response.status), which drops what is sent; name the "
                                + "final address in `to`.", status: response.status, url: url)
                    }
                    throw .status(response, at: url)
                }
                if let failure = source.changeFailure() { throw failure }
                let digest = stream.digest()
                return .done(
                    Output(
                        bytes: source.size, sha256: digest.hexadecimal, status: response.status,
                        etag: response.headers["etag"].first,
                        location: response.headers["location"].first.flatMap {
                            // A Location that cannot be read says nothing; the upload itself is confirmed.
                            try? WebURL(parsing: $0, base: url).description
                        }, address: "\(response.address)", durationMs: 0,
                        isChecksumConfirmed: try ServerDigest.check(response, against: digest)))
            }
        } catch {
            // What was read may explain why the exchange failed.
            if let cause = stream.failure() ?? source.changeFailure(), error.reason != .cancelled { throw cause }
            throw error
        }
    }

    private func target(of input: Input) throws(KindFailure) -> WebURL {
        let url = try WebURL(input: input.to, field: "to")
        if url.hadUserinfo { throw .invalid("to", "must not hold a user or password; name a credential instead") }
        return client.strictForm(of: url) ?? url
    }

    private func source(of input: Input) async throws(KindFailure) -> UploadSource {
        switch (input.file, input.body) {
        case (let file?, nil):
            let configuration = configuration
            do {
                let opened = try await client.threads.runAbandoningOnCancel {
                    Result { () throws(KindFailure) in try configuration.open(file) }
                }
                return .file(try opened.get())
            } catch let failure as KindFailure {
                throw failure
            } catch {
                throw .cancelled
            }
        case (nil, let body?): return .bytes(Array(body.utf8))
        case (nil, nil): throw .invalid("file", "is missing; name a file, or let a dependency give the body")
        case (_?, _?): throw .invalid("body", "cannot be given together with `file`; leave one out")
        }
    }
}

extension KindFailure {
    static func invalid(_ field: String, _ problem: String) -> KindFailure {
        KindFailure(.invalidInput, "`\(field)` \(problem).")
    }
}
