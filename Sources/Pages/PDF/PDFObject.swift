/// A value of a PDF (ISO 32000-2, 7.3).
enum PDFObject {
    case null
    case boolean
    case integer(Int)
    case real
    case string([UInt8])
    case name(String)
    case array([PDFObject])
    case dictionary(PDFDictionary)
    indirect case stream(PDFStream)
    /// A reference to the object with this number.
    case reference(Int)

    var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    var string: [UInt8]? { if case .string(let value) = self { value } else { nil } }
    var name: String? { if case .name(let value) = self { value } else { nil } }
    var array: [PDFObject]? { if case .array(let value) = self { value } else { nil } }
    var stream: PDFStream? { if case .stream(let value) = self { value } else { nil } }
    /// The value as a dictionary; for a stream, the stream's dictionary.
    var dictionary: PDFDictionary? {
        switch self {
        case .dictionary(let value): value
        case .stream(let stream): stream.dictionary
        default: nil
        }
    }
}

typealias PDFDictionary = [String: PDFObject]

struct PDFStream {
    var dictionary: PDFDictionary
    /// The end of the file in which the stream is.
    var bytes: [UInt8]
    /// The index in `bytes` at which the data begins.
    var start: Int
}
