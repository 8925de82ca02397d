extension String {
    /// The text with the middle of very long words cut, so that a message that repeats what was typed stays
    /// readable.
    var withShortWords: String {
        guard utf8.count > Self.longestWord else { return self }
        return split(separator: " ", omittingEmptySubsequences: false).map { word in
            word.utf8.count > Self.longestWord ? word.prefix(60) + "…" + word.suffix(20) : word
        }.joined(separator: " ")
    }

    private static let longestWord = 1000
}
