import Glibc
import WebSyntax

/// Signs in a page's bytes that distinguish a wall from a real page: whether the page describes itself, and what it
/// demands of the visitor.
package struct PageSigns: Codable, Sendable, Hashable {
    /// Whether the page describes itself: with an article, a canonical address, a description, a feed or linked data.
    package private(set) var describesItself = false
    /// The size of the visible text in bytes, without white space.
    package private(set) var textBytes = 0
    /// Whether the page asks search engines not to list it.
    package private(set) var isUnlisted = false
    package private(set) var hasConsentForm = false
    /// Whether a form field contains the address to continue at.
    package private(set) var leadsBack = false
    /// Whether the page contains the script or the form of a robot check.
    package let hasChallenge: Bool
    /// Whether the page continues after the bytes that were searched; set by the program that fetched them.
    package var isCut = false

    init(_ bytes: [UInt8]) {
        hasChallenge = bytes.withUnsafeBytes(Self.holdsChallenge)
        bytes.withUnsafeBufferPointer { bytes in
            var reader = TagReader(bytes)
            while let token = reader.next() {
                switch token {
                case .text(let range): textBytes += bytes[range].count { !$0.isSpace }
                case .start("template"): reader.skipTemplate()
                case .start(let name): take(name, reader)
                case .rawText, .end, .other: break
                }
            }
        }
    }

    /// Names of parameters that usually contain the address to continue at.
    package static let ways: Set<String> = [
        "continue", "continueurl", "continue_url", "redirect", "redirecturl", "redirect_url", "redirect_uri", "return",
        "returnurl", "return_url", "returnto", "return_to", "next", "dest", "destination", "done", "target", "url",
        "callbackurl", "goto",
    ]

    package static func isAddress(_ text: String) -> Bool {
        let text = text.lowercased()
        return ["http://", "https://", "http%3a", "https%3a", "/", "%2f"].contains { text.hasPrefix($0) }
    }

    private mutating func take(_ name: HTMLName, _ tag: TagReader) {
        func value(_ name: HTMLName) -> String { tag[name]?.lowercased() ?? "" }
        switch name {
        case "article": describesItself = true
        case "meta":
            let key = tag.has("property") ? value("property") : value("name")
            let content = value("content")
            if content.isEmpty { return }
            if key == "robots" { isUnlisted = isUnlisted || content.contains("noindex") }
            if key == "description" || ["og:", "article:", "twitter:"].contains(where: key.hasPrefix) {
                describesItself = true
            }
        case "link":
            let rel = value("rel").tokens
            if rel.contains("canonical") || rel.contains("alternate") { describesItself = true }
        case "form": if value("action").contains("consent") { hasConsentForm = true }
        case "input": if Self.ways.contains(value("name")), Self.isAddress(value("value")) { leadsBack = true }
        case "script": if value("type").contains("ld+json") { describesItself = true }
        default: break
        }
    }

    private static func holdsChallenge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if challenges.contains(where: { place(of: $0, in: bytes[...]) != nil }) { return true }
        var rest = bytes[...]
        while let place = place(of: cloudflare, in: rest) {
            rest = rest[(place + cloudflare.utf8CodeUnitCount)...]
            // Ordinary pages contain Cloudflare's measuring script.
            if Self.place(of: "scripts/", in: rest.prefix(40)) == nil { return true }
        }
        return false
    }

    private static let cloudflare: StaticString = "/cdn-cgi/challenge-platform/"

    private static let challenges: [StaticString] = [
        "cf-chl", "_cf_chl_", "captcha-delivery.com", "WUDNSAI=", "px-captcha", "gokuProps",
        "/.well-known/ddos-guard/", "/.well-known/sgcaptcha/", "/_sec/cp_challenge/",
        "/.within.website/x/", "/.well-known/vercel/security/", "sucuri_cloudproxy_js", "/errors/validateCaptcha",
        "/_fs-ch-",
    ]

    private static func place(of text: StaticString, in bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
        let (first, count) = (text.utf8Start, text.utf8CodeUnitCount)
        guard let base = bytes.base.baseAddress else { return nil }
        var at = bytes.startIndex
        while at + count <= bytes.endIndex {
            guard let found = memchr(base + at, Int32(first.pointee), bytes.endIndex - count + 1 - at) else {
                return nil
            }
            at = UnsafeRawPointer(found) - base
            if memcmp(found, first, count) == 0 { return at }
            at += 1
        }
        return nil
    }
}
