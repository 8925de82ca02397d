/// A block of lines at the bottom of a terminal that is redrawn in place.
struct LiveBlock {
    private var drawn = 0
    private let output: Output

    init(_ output: Output) { self.output = output }

    /// Prints `lines` permanently, and redraws the block below them.
    mutating func draw(_ block: [StyledText], below lines: [StyledText]) throws {
        var text = drawn > 0 ? "\u{1B}[\(drawn)A\r\u{1B}[J" : ""
        // A wrapped line would move the cursor to the wrong line.
        let width = output.width ?? 80
        for line in lines { text += line.rendered(colours: output.hasColours) + "\n" }
        for line in block { text += line.truncated(to: width - 1).rendered(colours: output.hasColours) + "\n" }
        drawn = block.count
        try output.write(text)
        try output.flush()
    }
}
