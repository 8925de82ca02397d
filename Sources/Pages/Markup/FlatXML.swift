import WebSyntax

/// Reads XML whose values are the texts of elements, such as the responses of S3.
package enum FlatXML {
    /// Returns the elements that contain only text, in order.
    package static func texts(in body: [UInt8]) -> [(name: String, text: String)] {
        body.withUnsafeBufferPointer { bytes in
            var reader = TagReader(bytes, isXML: true)
            var found: [(name: String, text: String)] = []
            var open: (name: String, text: String)?
            while let token = reader.next(), found.count < 50_000 {
                switch token {
                case .start: open = (reader.text(reader.name), "")
                case .text(let range): open?.text += CharacterReferences.decode(reader.text(range))
                case .end:
                    if let leaf = open, leaf.name == reader.text(reader.name) {
                        found.append((leaf.name, leaf.text.trimmingSpaces))
                    }
                    open = nil
                case .rawText, .other: break
                }
            }
            return found
        }
    }
}
