import WebSyntax

/// Reads XML whose values are the texts of elements, such as the responses of S3.
package enum FlatXML {
    /// Returns the elements that contain only text, in order.
    package static func texts(in body: [UInt8]) -> [(name: String, text: String)] {
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
