import Decompression

/// Decodes a stream's filters (ISO 32000-2, 7.4). Only `FlateDecode` is supported, which is the usual filter of streams
/// with metadata.
enum PDFFilter {
    /// The maximum number of filters of one stream.
    static let maxCount = 4

    /// Decodes a stream's data.
    ///
    /// - Parameter dictionary: The stream's dictionary, with references in its filters resolved.
    /// - Returns: The decoded data; if the data is damaged, the part before the damage. Nil if a filter is not
    ///   supported or the budget is used up.
    static func decode(_ data: ArraySlice<UInt8>, by dictionary: PDFDictionary, _ budget: inout PDFBudget) -> [UInt8]? {
        let filters = list(dictionary["Filter"])
        let parameters = list(dictionary["DecodeParms"])
        guard filters.count <= maxCount else { return nil }
        var data = data
        var isCopied = false
        for (index, filter) in filters.enumerated() {
            switch filter.name {
            // The filter of unencrypted streams in encrypted files. If the data is encrypted, nothing is found in it.
            case "Crypt": continue
            case "FlateDecode", "Fl":
                guard let decoded = inflate(data, &budget) else { return nil }
                let parameter = index < parameters.count ? parameters[index].dictionary : nil
                guard let plain = parameter.map({ unpredict(decoded, $0) }) ?? decoded else { return nil }
                data = plain[...]
                isCopied = true
            default: return nil
            }
        }
        if isCopied { return Array(data) }
        guard data.count <= budget.output else { return nil }
        budget.write(data.count)
        return Array(data)
    }

    private static func list(_ value: PDFObject?) -> [PDFObject] {
        switch value {
        case nil, .null: []
        case .array(let values): values
        case .some(let one): [one]
        }
    }

    private static func inflate(_ data: ArraySlice<UInt8>, _ budget: inout PDFBudget) -> [UInt8]? {
        guard data.count <= min(budget.input, budget.compressed), budget.output > 0 else { return nil }
        budget.inflate(data.count)
        var decoded: [UInt8] = []
        // The error is ignored, so that the data before the damage is used.
        data.withUnsafeBytes { _ = try? InflateDecoder(gzip: false).decode($0, into: &decoded, limit: budget.output) }
        budget.write(decoded.count)
        return decoded
    }

    private static func unpredict(_ data: [UInt8], _ parameters: PDFDictionary) -> [UInt8]? {
        let predictor = parameters["Predictor"]?.integer ?? 1
        guard predictor > 1 else { return data }
        let colors = parameters["Colors"]?.integer ?? 1
        let bits = parameters["BitsPerComponent"]?.integer ?? 8
        let columns = parameters["Columns"]?.integer ?? 1
        guard (1...32).contains(colors), [1, 2, 4, 8, 16].contains(bits), (1...1 << 20).contains(columns) else {
            return nil
        }
        let width = (colors * bits * columns + 7) / 8
        let pixel = max(1, colors * bits / 8)
        if predictor >= 10 { return unfilter(data, width, pixel) }
        // The TIFF predictor is supported only for components of 8 bits.
        guard predictor == 2, bits == 8 else { return nil }
        var plain = data
        for at in plain.indices where at % width >= pixel { plain[at] &+= plain[at - pixel] }
        return plain
    }

    /// Undoes the PNG predictors. Each row begins with the number of its filter.
    private static func unfilter(_ data: [UInt8], _ width: Int, _ pixel: Int) -> [UInt8]? {
        var plain: [UInt8] = []
        plain.reserveCapacity(data.count)
        var at = 0
        while at + 1 < data.count {
            let filter = data[at]
            let row = plain.count
            guard filter <= 4 else { return nil }
            for offset in 0..<min(width, data.count - at - 1) {
                let left = offset >= pixel ? plain[row + offset - pixel] : 0
                let up = row > 0 ? plain[row + offset - width] : 0
                let corner = row > 0 && offset >= pixel ? plain[row + offset - width - pixel] : 0
                let guess: UInt8 =
                    switch filter {
                    case 0: 0
                    case 1: left
                    case 2: up
                    case 3: UInt8((Int(left) + Int(up)) / 2)
                    default: paeth(left, up, corner)
                    }
                plain.append(data[at + 1 + offset] &+ guess)
            }
            at += 1 + width
        }
        return plain
    }

    private static func paeth(_ left: UInt8, _ up: UInt8, _ corner: UInt8) -> UInt8 {
        let guess = Int(left) + Int(up) - Int(corner)
        let (byLeft, byUp, byCorner) = (abs(guess - Int(left)), abs(guess - Int(up)), abs(guess - Int(corner)))
        return byLeft <= byUp && byLeft <= byCorner ? left : byUp <= byCorner ? up : corner
    }
}
