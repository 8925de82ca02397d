import Foundation

/// The same page of 12,026 bytes in every coding.
package enum PackedPage: String, CaseIterable, Sendable {
    case gzip, members, zlib, raw, zstd, brotli

    package var name: String {
        switch self {
        case .gzip: "gzip"
        case .members: "x-gzip"
        case .zlib, .raw: "deflate"
        case .zstd: "zstd"
        case .brotli: "br"
        }
    }

    package var bytes: [UInt8] {
        let text =
            switch self {
            case .gzip:
                "H4sIAAAAAAACA+3IUQmAMBQAwCprYIHHMqyCuH3IBEUGZjKHxfwwhvd1cDHWsbVc5qW3mp47pi/iyNd+1kSSJEmSJEmSJEmSJEmSJEmSJEmSJEmS/LcvMIJK"
                    + "35g+AAA="
            case .members:
                "H4sIAAAAAAACA+3IQQmAMBQA0CprYIHPMqyCuB1kgiIDM5nDYh6M4PWdHrwY69haLvPSW03PHdMXceRrP2siSZIkSZIk+d8X1lVj4YgTAAAfiwgAAAAAAAID7cUx"
                    + "DQAwCAAwKwghqOHfsgf700HSPs1bc15H2rZt27Zt27Zt27Zt27Zt2wv/0Sp//BArAAA="
            case .zlib:
                "eNrtyFEJgDAUAMAqa2CBxzKsgrh9yARFBmYyh8X8MIb3dXAx1rG1XOalt5qeO6Yv4sjXftZEkiRJkiRJkiRJkiRJkiRJkiRJkiRJkvy3L72ZtVc="
            case .raw:
                "7chRCYAwFADAKmtggccyrIK4fcgERQZmMofF/DCG93VwMdaxtVzmpbeanjumL+LI137WRJIkSZIkSZIkSZIkSZIkSZIkSZIkSZL8ty8="
            case .zstd: "KLUv/QRoJQEA0Dx0aXRsZT5QYWNrZWQgw6k8LzxwPndvcmQgAgB1foVzhM0wr9c1Bg=="
            case .brotli: "G5c++B2pUZ87phruLnVYg5CVySmftxakEHRu0w5ssFBDlCMlufRfxgYAXgA="
            }
        return [UInt8](Data(base64Encoded: text) ?? Data())
    }

    /// The page itself.
    package static let page = Array(("<title>Packed é</title>" + String(repeating: "<p>word ", count: 2000)).utf8)
}
