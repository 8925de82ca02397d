/// Where each object of a file is, and its trailer.
struct PDFCrossReference {
    enum Place: Equatable {
        case offset(Int)
        /// In the object stream of that number.
        case packed(in: Int)
        case free
    }

    /// A file of the standard has none beyond.
    static let maxNumber = 1 << 23
    /// How many are told; that takes 24 MiB in memory.
    static let maxCount = 1 << 19

    var places: [Int: Place] = [:]
    var trailer: PDFDictionary = [:]
}
