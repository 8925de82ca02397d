import Foundation
import Samples
import Servers
import Testing

@testable import Kinds
@testable import Pages

@Suite struct MediaTypeTests {
    @Test(arguments: [
        ("photo.jpg", "image/jpeg"), ("PHOTO.JPG", "image/jpeg"), ("a.tar.gz", "application/gzip"),
        ("page.html", "text/html"), ("jpg", nil), ("a.", nil), ("", nil), (".txt", "text/plain; charset=utf-8"),
        ("a.unheard-of", nil),
    ])
    func nameDecidesByItsEnding(name: String, type: String?) { #expect(MediaType.named(name) == type) }

    @Test(arguments: [
        ("\u{89}PNG\r\n\u{1A}\n....", "image/png"), ("\u{FF}\u{D8}\u{FF}\u{E0}", "image/jpeg"),
        ("GIF89a\0\0", "image/gif"), ("GIF87a", "image/gif"), ("RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("\0\0\0\u{1C}ftypavif", "image/avif"), ("BM\0\0", "image/bmp"), ("\0\0\u{1}\0", "image/x-icon"),
        ("RIFF\0\0\0\0WAVE", "audio/wav"), ("RIFF\0\0\0\0AVI ", "video/x-msvideo"), ("FORM\0\0\0\0AIFF", "audio/aiff"),
        ("ID3\u{3}", "audio/mpeg"), ("OggS\0", "audio/ogg"), ("MThd\0\0\0\u{6}", "audio/midi"),
        ("\0\0\0\u{18}ftypmp42", "video/mp4"), ("\0\0\0\u{18}ftypisom", "video/mp4"),
        ("\0\0\0\u{18}ftypM4A ", "audio/mp4"), ("\0\0\u{1}\0ftypqt  ", "video/quicktime"),
        ("\u{1A}E\u{DF}\u{A3}", "video/webm"), ("\u{1F}\u{8B}\u{8}", "application/gzip"),
        ("PK\u{3}\u{4}", "application/zip"), ("Rar!\u{1A}\u{7}\0", "application/vnd.rar"),
        ("(\u{B5}/\u{FD}", "application/zstd"), ("%PDF-1.7", "application/pdf"),
        ("%!PS-Adobe-3.0", "application/postscript"), ("\u{FE}\u{FF}\0a", "text/plain"),
        ("\u{FF}\u{FE}a\0", "text/plain"), ("\u{EF}\u{BB}\u{BF}a", "text/plain; charset=utf-8"),
        ("plain words\n\tand more\u{1B}[0m", "text/plain"), ("RIFF\0\0\0\0", "application/octet-stream"),
        ("", "application/octet-stream"), ("words\0", "application/octet-stream"),
        ("<script>alert(1)</script>", "text/plain"), ("<?xml version='1.0'?><svg/>", "text/plain"),
    ])
    func firstBytesDecideWhereTheNameDoesNot(head: String, type: String) {
        // Each character of the table represents one byte.
        #expect(MediaType.sniffed(head.unicodeScalars.map { UInt8($0.value) }) == type)
    }

    /// `enrich` and `upload` recognize the same brands.
    @Test(
        arguments: [
            ("M4A ", [], "audio/mp4"), ("M4B ", ["mp42"], "audio/mp4"), ("M4V ", [], "video/mp4"),
            ("qt  ", [], "video/quicktime"), ("3gp5", [], "video/3gpp"), ("3g2a", ["isom"], "video/3gpp2"),
            ("mp42", ["M4A "], "video/mp4"), ("isom", [], "video/mp4"), ("MSNV", ["isom"], "video/mp4"),
            ("avif", ["mif1"], "image/avif"), ("mif1", ["miaf", "avif"], "image/avif"),
            ("mif1", ["heic"], "image/heic"),
            ("heix", [], "image/heic"), ("hevc", [], "image/heic-sequence"), ("mif1", ["miaf"], "image/heif"),
            ("none", ["more"], nil),
        ] as [(String, [String], String?)])
    func brandsDecideTheTypeOfAnISOFile(major: String, compatible: [String], type: String?) {
        let length = UInt8(16 + 4 * compatible.count)
        let box = [0, 0, 0, length] + Array("ftyp\(major)".utf8) + [0, 0, 0, 0] + Array(compatible.joined().utf8)
        // The `qt` after the box is not one of the file's brands.
        let file = box + Array("\0\0\0\u{8}mdatqt  ".utf8)
        #expect(MediaFacts(file)?.contentType == type)
        #expect(MediaType.sniffed(file) == type ?? MediaType.unknown)
        for count in file.indices { _ = MediaFacts(Array(file[..<count])) }
    }

    @Test(arguments: UInt64(1)...3)
    func noBytesTrap(seed: UInt64) {
        let bytes = randomBytes(3000, seed: seed)
        for end in 0..<bytes.count where end < 40 || end % 97 == 0 { _ = MediaType.sniffed(Array(bytes[..<end])) }
    }

    /// The content type comes from the input, else from the name, else from the content.
    @Test(arguments: [
        ("f.json", nil, "application/json"), ("f.json", "text/x", "text/x"), ("f", nil, "image/png"),
        ("spool:m1-2-3/photo.jpg", nil, "image/jpeg"), ("spool:m1-2-3", nil, "image/png"),
        ("spool:m1-2-3/photo", nil, "image/png"),
    ])
    func contentTypeIsSent(name: String, given: String?, type: String) async throws {
        try await withFolder { folder in
            for file in ["f", "f.json", "m1-2-3"] {
                try Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]).write(
                    to: URL(fileURLWithPath: "\(folder)/\(file)"))
            }
            try await LoopbackServer.with { _ in
                .respond(201)
            } _: { server in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    configuration.spool = folder
                    let file = name.hasPrefix("spool:") ? name : "\(folder)/\(name)"
                    _ = try await Upload(client: client, configuration: configuration).result(
                        Upload.Input(file: file, to: server.origin, contentType: given))
                    #expect(server.requests.first?.header("content-type") == type)
                }
            }
        }
    }

    @Test(arguments: [
        ("/srv/a b.txt", "a b.txt"), ("spool:m1-2-3/photo.jpg", "photo.jpg"), ("spool:m1-2-3", "file"),
        ("spool:m1-2-3/", "file"), ("spool:m1-2-3/../../etc/passwd", "passwd"), ("spool:m1-2-3/..", "file"),
        ("spool:m1-2-3/a\r\nx: y\u{202E}", "a\u{FFFD}\u{FFFD}x: y\u{FFFD}"), ("spool:m1-2-3/a\"b", "a\"b"),
        ("spool:m1-2-3/\u{301}x", "\u{301}x"),
    ])
    func nameOfTheFileIsData(file: String, name: String) {
        #expect(Upload.Input(file: file, to: "http://h/").fileName == name)
    }

    @Test func nameOfTheFileIsBounded() {
        let name = Upload.Input(file: "spool:m1-2-3/" + String(repeating: "é", count: 5000), to: "").fileName
        #expect(name.utf8.count <= 255 && name.utf8.count > 200)
    }
}
