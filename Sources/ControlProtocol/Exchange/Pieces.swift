import Jobs

/// The bytes of an answer in pieces, each produced on request.
package struct Pieces: Sendable {
    package struct Piece: Sendable {
        package var bytes: [UInt8]
        /// The following pieces; nil after the last piece.
        package var rest: Pieces?
    }

    package let next: @Sendable () async throws -> Piece

    /// Creates the pieces of a JSON array with the elements of all pages.
    static func array<Element: WireValue & Sendable>(of pages: Pages<Element>) -> Pieces {
        list(opening: [UInt8(ascii: "[")], pages) { bytes in
            bytes.append(contentsOf: "]\n".utf8)
            return nil
        }
    }

    /// Creates the pieces of a graph's JSON, in the format of ``GraphDetail``.
    static func graph(_ pages: GraphPages) -> Pieces {
        var opening = pages.graph.json.bytes
        // Removes the closing brace, since the object continues after the fields of the graph.
        opening.removeLast()
        opening.append(contentsOf: ",\"jobs\":[".utf8)
        return list(opening: opening, pages.jobs) { bytes in
            bytes.append(contentsOf: "],\"edges\":[".utf8)
            return list(opening: [], pages.edges) { bytes in
                bytes.append(contentsOf: "]}\n".utf8)
                return nil
            }
        }
    }

    /// - Parameter end: Appends the bytes after the last element, and returns the pieces that follow.
    private static func list<Element: WireValue & Sendable>(
        opening: [UInt8], _ pages: Pages<Element>, isFirst: Bool = true,
        end: @escaping @Sendable (inout [UInt8]) -> Pieces?
    ) -> Pieces {
        Pieces {
            let page = try await pages.read()
            let beginning = opening + (isFirst || page.elements.isEmpty ? [] : [UInt8(ascii: ",")])
            var bytes = JSONWriter.text(after: beginning) { for element in page.elements { element.write(to: &$0) } }
                .bytes
            guard let rest = page.rest else {
                let following = end(&bytes)
                return Piece(bytes: bytes, rest: following)
            }
            return Piece(
                bytes: bytes,
                rest: list(opening: [], rest, isFirst: isFirst && page.elements.isEmpty, end: end))
        }
    }
}
