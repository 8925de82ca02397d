/// Finds the end of a page's head in bytes that arrive piece by piece.
///
/// It ignores `</head>` and `<body` in comments, scripts and attribute values. If a piece ends in the end tag of a script, it
/// may find the end too early, which costs one more look at the page.
package struct HeadScanner {
    /// The end of the last token that is certainly complete.
    private var at = 0
    /// The number of bytes to wait for.
    private var needed = 0

    package init() {}

    /// Whether the bytes of an interrupted page contain the end of the head.
    static func findsEnd(in bytes: [UInt8]) -> Bool {
        // A new scanner waits for no more bytes.
        var scanner = HeadScanner()
        return scanner.advance(to: bytes)
    }

    /// Looks at the bytes that arrived since the last call.
    ///
    /// - Parameter bytes: All bytes received so far.
    /// - Returns: Whether `bytes` contains the end of the head.
    package mutating func advance(to bytes: [UInt8]) -> Bool {
        guard bytes.count >= needed else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            var reader = TagReader(bytes, from: at)
            while let token = reader.next() {
                switch token {
                case .start("body"), .end("head"): return true
                case .start("template"): reader.skipTemplate()
                default: break
                }
                if reader.at < bytes.count, reader.rawElement == nil { at = reader.at }
            }
            // A long token is read again only after it has grown by a quarter. Thus the work grows in proportion to the
            // page, however small the pieces are.
            let rest = bytes.count - at
            needed = rest < 4096 ? 0 : bytes.count + rest / 4
            return false
        }
    }
}
