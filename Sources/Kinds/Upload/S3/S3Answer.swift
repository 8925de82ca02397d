import Crypto
import FoundationEssentials
import Pages

/// Reads the few values that are needed from S3's XML.
enum S3Answer {
    struct Part: Hashable, Sendable {
        var number: Int
        var etag: String
        var bytes: Int64
    }

    /// Returns the text of the first element with this name; nil if there is none.
    static func text(_ element: String, in body: [UInt8]) -> String? {
        FlatXML.texts(in: body).first { $0.name == element }?.text
    }

    static func parts(in body: [UInt8]) -> [Part] {
        var parts: [Part] = []
        var (number, etag, bytes): (Int?, String?, Int64?)
        for (name, text) in FlatXML.texts(in: body) {
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

    /// A multipart upload that has begun and is not complete.
    struct Begun: Hashable, Sendable {
        var key: String
        var id: String
        /// When the upload began by the server's clock, in seconds since 1970.
        var initiatedAt: Double
    }

    /// Returns the uploads in a response to ListMultipartUploads; nil if the body is not such a response.
    static func uploads(in body: [UInt8]) -> [Begun]? {
        guard body.firstRange(of: Array("<ListMultipartUploadsResult".utf8)) != nil else { return nil }
        var uploads: [Begun] = []
        var (key, id): (String?, String?)
        for (name, text) in FlatXML.texts(in: body) {
            switch name {
            case "Key": (key, id) = (text, nil)
            case "UploadId": id = text
            case "Initiated":
                // The time is read to the second. An upload without a valid time is skipped, since its age cannot be
                // compared.
                guard let key, let id, let moment = try? Date("\(text.prefix(19))Z", strategy: .iso8601) else {
                    continue
                }
                uploads.append(Begun(key: key, id: id, initiatedAt: moment.timeIntervalSince1970))
            default: continue
            }
        }
        return uploads
    }

    /// The ETag that S3 gives an object: the MD5 of the parts' MD5s, followed by the number of parts.
    static func etag(of parts: [Checkpoint.Part]) -> String {
        var md5 = Insecure.MD5()
        for part in parts { md5.update(data: part.etag.unquoted.bytesFromHexadecimal) }
        return "\"\(md5.finalize().hexadecimal)-\(parts.count)\""
    }

    /// The object's checksum by the same rule, with SHA-256.
    static func checksum(of parts: [Checkpoint.Part]) -> String {
        var sha256 = SHA256()
        for part in parts { sha256.update(data: part.sha256.bytesFromHexadecimal) }
        return "\(Data(sha256.finalize()).base64EncodedString())-\(parts.count)"
    }

    /// Whether the server refuses the request because of its checksum, which not every server supports.
    static func refusesChecksums(_ reply: UploadReply) -> Bool {
        guard reply.status == 400 || reply.status == 501 else { return false }
        return ["NotImplemented", "InvalidArgument", "InvalidRequest", "UnsupportedHeader"].contains(
            text("Code", in: reply.body) ?? "")
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
