import FoundationEssentials

/// The few facts that are read out of S3's XML.
enum S3Answer {
    struct Part: Hashable, Sendable {
        var number: Int
        var etag: String
        var bytes: Int64
    }

    /// The text of the first element of that name.
    static func text(_ element: String, in body: [UInt8]) -> String? {
        texts(in: body).first { $0.name == element }?.text
    }

    static func parts(in body: [UInt8]) -> [Part] {
        var parts: [Part] = []
        var (number, etag, bytes): (Int?, String?, Int64?)
        for (name, text) in texts(in: body) {
            switch name {
            case "PartNumber": number = Int(text)
            case "ETag": etag = text
            case "Size": bytes = Int64(text)
            default: continue
            }
            if let found = number, let tag = etag, let size = bytes {
                parts.append(Part(number: found, etag: tag.unquoted, bytes: size))
                (number, etag, bytes) = (nil, nil, nil)
            }
        }
        return parts
    }

    /// An upload in parts that was begun and not ended.
    struct Begun: Hashable, Sendable {
        var key: String
        var id: String
        /// By the server's clock, in seconds since 1970.
        var initiatedAt: Double
    }

    /// Nil when it is no answer to ListMultipartUploads.
    static func uploads(in body: [UInt8]) -> [Begun]? {
        guard body.firstRange(of: Array("<ListMultipartUploadsResult".utf8)) != nil else { return nil }
        var uploads: [Begun] = []
        var (key, id): (String?, String?)
        for (name, text) in texts(in: body) {
            switch name {
            case "Key": (key, id) = (text, nil)
            case "UploadId": id = text
            case "Initiated":
                // To the second; one that is not a time is nothing to go on with.
                guard let key, let id, let moment = try? Date("\(text.prefix(19))Z", strategy: .iso8601) else {
                    continue
                }
                uploads.append(Begun(key: key, id: id, initiatedAt: moment.timeIntervalSince1970))
            default: continue
            }
        }
        return uploads
    }

    /// Whether it refuses the request for the checksum in it, which not every server knows.
    static func refusesChecksums(_ reply: Transfer.Reply) -> Bool {
        guard reply.status == 400 || reply.status == 501 else { return false }
        return ["NotImplemented", "InvalidArgument", "InvalidRequest", "UnsupportedHeader"].contains(
            text("Code", in: reply.body) ?? "")
    }

    /// Elements that hold nothing but text, in order.
    private static func texts(in body: [UInt8]) -> [(name: String, text: String)] {
        body.withUnsafeBufferPointer { bytes in
            var reader = TagReader(bytes)
            var found: [(name: String, text: String)] = []
            var open: (name: String, text: String)?
            while let token = reader.next(), found.count < 50_000 {
                switch token {
                case .start(let range): open = (reader.text(range), "")
                case .text(let range): open?.text += Entities.decode(reader.text(range))
                case .end(let range):
                    if let leaf = open, leaf.name == reader.text(range) {
                        found.append((leaf.name, leaf.text.trimmingSpaces))
                    }
                    open = nil
                case .other: break
                }
            }
            return found
        }
    }
}

extension String {
    var unquoted: String {
        hasPrefix("\"") && hasSuffix("\"") && utf8.count >= 2 ? String(dropFirst().dropLast()) : self
    }

    var escapedForXML: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
