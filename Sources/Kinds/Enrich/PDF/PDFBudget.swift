/// What may still be read and decoded, in bytes: whatever a file says, that takes a bounded time and space.
struct PDFBudget {
    var input: Int
    var output = 4 << 20

    /// - Parameter count: The length of the file. Each of its bytes is read a few times at most.
    init(for count: Int) { input = max(4 << 20, 4 * count) }
}
