/// What may still be read and decoded, in bytes: whatever a file says, that takes a bounded time and space.
struct PDFBudget {
    /// Left to read, also for what is read again.
    private(set) var input: Int
    /// Left to decode to.
    var output: Int
    /// Left to inflate, of the whole file: a byte of that can cost far more than one that is read.
    private(set) var compressed: Int
    /// All that was done.
    private(set) var work = 0
    private let count: Int

    /// - Parameter count: The length of the file. Each of its bytes is read a few times at most.
    init(for count: Int) {
        self.count = count
        (input, output, compressed) = (0, 0, count + 1 << 20)
        renew()
    }

    /// For another way to read the file.
    mutating func renew() {
        input = max(4 << 20, 4 * count)
        output = 4 << 20
    }

    mutating func read(_ count: Int) {
        input -= count
        work += count
    }

    /// What has a bound of its own.
    mutating func note(_ count: Int) { work += count }

    mutating func write(_ count: Int) {
        output -= count
        work += count
    }

    mutating func inflate(_ count: Int) {
        compressed -= count
        read(count)
    }
}
