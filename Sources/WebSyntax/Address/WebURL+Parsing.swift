extension WebURL {
    /// Parses an absolute URL, or resolves a relative reference against `base`.
    ///
    /// - Parameters:
    ///   - text: An absolute URL or a relative reference.
    ///   - base: The base for relative references; nil to accept only absolute URLs.
    /// - Throws: The reason why the text is not an http or https URL.
    public init(parsing text: String, base: WebURL? = nil) throws(WebURLProblem) {
        try self.init(anyLength: text, base: base)
        let bytes = origin.utf8.count + path.utf8.count + (query?.utf8.count ?? 0) + (fragment?.utf8.count ?? 0)
        if bytes > Self.maxBytes { throw .tooLong }
    }

    private init(anyLength text: String, base: WebURL?) throws(WebURLProblem) {
        var bytes = Array(text.utf8)
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        bytes.removeFirst(bytes.prefix { $0 <= 0x20 }.count)
        bytes.removeAll { $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }

        var rest = bytes[...]
        var scheme = base?.scheme
        var isAbsolute = false
        if let given = Self.takeScheme(&rest) {
            guard let known = Scheme(rawValue: given) else { throw .unsupportedScheme(given) }
            // `https:page` with an https base is relative. This is an old rule that the standard keeps.
            isAbsolute = known != base?.scheme || rest.starts(with: "//".utf8)
            scheme = known
        }
        guard let scheme else { throw bytes.isEmpty ? .empty : .relative }

        var fragment: String?
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = Self.encoded(rest[(hash + 1)...], .fragment)
            rest = rest[..<hash]
        }
        if !isAbsolute, let base {
            self = try Self.resolve(rest, scheme: scheme, against: base, fragment: fragment)
            return
        }
        rest = rest.drop(while: Self.isSlash)
        self = try Self.authorityAndPath(rest, scheme: scheme, fragment: fragment)
    }

    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

    private static func takeScheme(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let first = rest.first, (0x61...0x7A).contains(first | 0x20), first >= 0x41,
            let end = rest.firstIndex(where: { byte in
                let isPart =
                    (0x61...0x7A).contains(byte | 0x20) && byte >= 0x41 || (0x30...0x39).contains(byte)
                    || "+-.".utf8.contains(byte)
                return !isPart
            }), rest[end] == UInt8(ascii: ":")
        else { return nil }
        let scheme = String(decoding: rest[..<end], as: UTF8.self).lowercased()
        rest = rest[(end + 1)...]
        return scheme
    }

    private static func authorityAndPath(
        _ rest: ArraySlice<UInt8>, scheme: Scheme, fragment: String?
    ) throws(WebURLProblem) -> WebURL {
        let end = rest.firstIndex { isSlash($0) || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        var authority = rest[..<end]
        var hadUserinfo = false
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            hadUserinfo = true
            authority = authority[(at + 1)...]
        }
        var port: UInt16?
        let bracket = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        if let colon = authority[bracket...].firstIndex(of: UInt8(ascii: ":")) {
            let digits = authority[(colon + 1)...]
            if !digits.isEmpty {
                guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .badPort }
                var value = 0
                for digit in digits {
                    value = value * 10 + Int(digit - 0x30)
                    if value > 65535 { throw .badPort }
                }
                port = value == Int(scheme.defaultPort) ? nil : UInt16(value)
            }
            authority = authority[..<colon]
        }
        guard let text = String(validating: authority, as: UTF8.self), let host = WebHost(parsing: text) else {
            throw .badHost
        }
        let (path, query) = splitQuery(rest[end...])
        return WebURL(
            scheme: scheme, host: host, explicitPort: port, path: normalized(path, onto: []), query: query,
            fragment: fragment, hadUserinfo: hadUserinfo)
    }

    private static func resolve(
        _ rest: ArraySlice<UInt8>, scheme: Scheme, against base: WebURL, fragment: String?
    ) throws(WebURLProblem) -> WebURL {
        var url = base
        url.fragment = fragment
        url.hadUserinfo = false
        guard let first = rest.first else { return url }
        let isRooted = isSlash(first)
        if isRooted, let second = rest.dropFirst().first, isSlash(second) {
            return try authorityAndPath(rest.drop(while: isSlash), scheme: scheme, fragment: fragment)
        }
        let (path, query) = splitQuery(rest)
        url.query = query
        if path.isEmpty { return url }
        let folder = base.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst().dropLast().map { Array($0) }
        url.path = normalized(path, onto: isRooted ? [] : folder)
        return url
    }

    private static func splitQuery(_ rest: ArraySlice<UInt8>) -> (path: ArraySlice<UInt8>, query: String?) {
        guard let mark = rest.firstIndex(of: UInt8(ascii: "?")) else { return (rest, nil) }
        return (rest[..<mark], encoded(rest[(mark + 1)...], .query))
    }

    private static func encoded(_ bytes: ArraySlice<UInt8>, _ part: PercentEncoding.Part) -> String {
        var output: [UInt8] = []
        PercentEncoding.encode(bytes, for: part, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Resolves the segments `.` and `..`, even if they are percent-encoded, and encodes the bytes that a path must not
    /// contain.
    private static func normalized(_ path: ArraySlice<UInt8>, onto folder: [[UInt8]]) -> String {
        var segments = folder
        var rest = path
        if let first = rest.first, isSlash(first) { rest = rest.dropFirst() }
        let parts = rest.split(omittingEmptySubsequences: false, whereSeparator: isSlash)
        func dots(_ part: ArraySlice<UInt8>) -> String {
            guard part.count <= 6, part.first == UInt8(ascii: ".") || part.first == UInt8(ascii: "%") else { return "" }
            return String(decoding: part, as: UTF8.self).lowercased().replacingEncodedDots
        }
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch dots(part) {
            case ".":
                if isLast { segments.append([]) }
            case "..":
                if !segments.isEmpty { segments.removeLast() }
                if isLast { segments.append([]) }
            default:
                var segment: [UInt8] = []
                PercentEncoding.encode(part, for: .path, into: &segment)
                segments.append(segment)
            }
        }
        var output: [UInt8] = []
        for segment in segments { output += [UInt8(ascii: "/")] + segment }
        return output.isEmpty ? "/" : String(decoding: output, as: UTF8.self)
    }
}

extension String {
    /// The text with each `%2e` replaced by `.`, if the text is short enough to be a dot segment. The text must be in
    /// lower case.
    fileprivate var replacingEncodedDots: String {
        guard utf8.count <= 6, contains("%2e") else { return self }
        return split(separator: "%2e", omittingEmptySubsequences: false).joined(separator: ".")
    }
}
