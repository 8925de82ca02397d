/// The position of each object in a file, and the file's trailer.
struct PDFCrossReference {
    enum Location: Equatable {
        case offset(Int)
        /// In the object stream with this object number.
        case packed(in: Int)
        case free
    }

    /// The object numbers of a conforming file are below this.
    static let maxNumber = 1 << 23
    /// The maximum number of entries to keep, which take 24 MiB of memory.
    static let maxCount = 1 << 19

    let locations: [Int: Location]
    let trailer: PDFDictionary
}
