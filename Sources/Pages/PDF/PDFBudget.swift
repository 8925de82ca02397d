/// The bytes that may still be read and decoded. They bound the time and memory for any file, however its structures
/// refer to each other.
struct PDFBudget {
    /// The bytes that may still be read. Reading the same bytes again counts again.
    private(set) var input: Int
    /// The bytes that may still be produced by decoding.
    var output: Int
    /// The compressed bytes that may still be inflated in the whole file. ``renew()`` does not reset this number, since
    /// inflating a byte can cost far more than reading one.
    private(set) var compressed: Int
    /// The bytes read and produced so far, for tests.
    private(set) var work = 0
    private let count: Int

    /// Creates the budget for one file.
    ///
    /// - Parameter count: The file's length in bytes. Four times as many bytes may be read, or 4 MiB if that is more.
    init(for count: Int) {
        self.count = count
        (input, output, compressed) = (0, 0, count + 1 << 20)
        renew()
    }

    /// Resets the budget for reading and decoding, between the cross-reference and the objects.
    mutating func renew() {
        input = max(4 << 20, 4 * count)
        output = 4 << 20
    }

    /// Charges for bytes that were read.
    mutating func read(_ count: Int) {
        input -= count
        work += count
    }

    /// Charges for bytes that decoding produced.
    mutating func write(_ count: Int) {
        output -= count
        work += count
    }

    /// Charges for compressed bytes that were inflated.
    mutating func inflate(_ count: Int) {
        compressed -= count
        read(count)
    }
}
