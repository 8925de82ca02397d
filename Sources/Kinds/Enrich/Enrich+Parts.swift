import NIOHTTP1
import Pages
import Web
import WebSyntax

extension Enrich {
    /// The time limit for measuring a picture, including its redirects. It is short because the size matters less than
    /// the page. Waiting for the host's limits does not count.
    static let imageTimeout = Duration.seconds(5)

    /// Measures the page's first picture from the first 64 KiB of its file, if the page does not state the size.
    ///
    /// If the picture cannot be fetched or measured, the output stays unchanged.
    ///
    /// - Throws: Only `cancelled`.
    func measureImage(of output: inout Output, within left: Duration) async throws(KindFailure) {
        let limit = min(left, Self.imageTimeout)
        guard limit > .zero, let picture = output.images?.first, picture.width == nil || picture.height == nil,
            // The same parser wrote this address, so parsing it again does not fail.
            let url = try? WebURL(parsing: picture.url)
        else { return }
        let found: MediaFacts?
        do throws(KindFailure) {
            found = try await withDeadline(left, failure: .timeout("fetching the picture", after: left, at: url)) {
                () async throws(KindFailure) in
                let stopwatch = Stopwatch()
                return try await withLimit(
                    left: { stopwatch.left(until: limit) },
                    failure: .timeout("fetching the picture", after: limit, at: url)
                ) { () async throws(KindFailure) in try await measure(url, stopwatch) }
            }
        } catch {
            if error.reason == .cancelled { throw error }
            return
        }
        guard let found, let width = found.width, let height = found.height else { return }
        output.images?[0].width = width
        output.images?[0].height = height
        output.images?[0].type = found.contentType
        output.sources["image_size"] = "file"
        output.confidence["image_size"] = .high
    }

    private enum Step: Sendable {
        case follow(WebURL)
        case done(MediaFacts?)
    }

    private func measure(_ start: WebURL, _ stopwatch: Stopwatch) async throws(KindFailure) -> MediaFacts? {
        var url = start
        for _ in 0...5 {
            var request = OutgoingRequest(method: .GET, url: url)
            request.headers = [
                "accept": "image/*", "accept-encoding": "identity", "range": "bytes=0-\(DocumentWatch.fileBytes - 1)",
            ]
            let step = try await client.exchange(request, stopwatch: stopwatch) {
                response throws(KindFailure) -> Step in
                if Redirect.isRedirect(response.status) {
                    await response.discard()
                    return .follow(try Redirect.target(of: response.head))
                }
                guard response.isSuccess else { return .done(nil) }
                let body = try await response.readDecoded(
                    upTo: DocumentWatch.fileBytes, received: DocumentWatch.fileBytes, keepsPart: true)
                return .done(try await documents.read(MeasureTask(), body.bytes, at: response.url).facts)
            }
            switch step {
            case .done(let facts): return facts
            case .follow(let next): url = next
            }
        }
        return nil
    }

    /// The number of bytes to fetch from the end of a PDF that is too long to be read completely.
    static let pdfTailBytes = 256 << 10

    /// Fetches the end of a PDF.
    ///
    /// - Parameters:
    ///   - count: The number of bytes at the beginning of the PDF that are already known. They are left out.
    ///   - etag: The `ETag` of the response with these bytes. If it is strong, a server that has another version of the
    ///     PDF by now does not send its end (`If-Range`, RFC 9110, 13.1.5).
    /// - Returns: The bytes and their offset in the PDF; nil if the server does not send them.
    /// - Throws: Only `cancelled`.
    func pdfTail(
        at url: WebURL, after count: Int, etag: String?
    ) async throws(KindFailure) -> (start: Int, bytes: [UInt8])? {
        var request = OutgoingRequest(method: .GET, url: url)
        request.headers = ["accept-encoding": "identity", "range": "bytes=-\(Self.pdfTailBytes)"]
        if let etag, !etag.hasPrefix("W/") { request.headers.add(name: "if-range", value: etag) }
        do throws(KindFailure) {
            return try await client.exchange(request) { response throws(KindFailure) -> (start: Int, bytes: [UInt8])? in
                guard response.status == 206, let range = response.headers["content-range"].first,
                    let start = Self.start(ofRange: range)
                else { return nil }
                let bytes = try await response.readDecoded(upTo: Self.pdfTailBytes, received: Self.pdfTailBytes).bytes
                return (max(start, count), Array(bytes.dropFirst(max(0, count - start))))
            }
        } catch {
            if error.reason == .cancelled { throw error }
            return nil
        }
    }

    /// Returns the first offset in a `Content-Range`, such as 1000 in `bytes 1000-1999/2000`.
    static func start(ofRange text: String) -> Int? {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        return Int(text.dropFirst(6).prefix { ("0"..."9").contains($0) })
    }
}
