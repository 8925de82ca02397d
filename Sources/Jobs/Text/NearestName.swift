/// Finds the name that a person probably meant when the given name does not exist.
public enum NearestName {
    /// Finds the candidate most similar to a name. The distance is the number of changed, added, dropped or swapped
    /// letters, ignoring case. It may be at most a third of the longer name's length, but at least one and at most
    /// three.
    ///
    /// - Returns: The nearest candidate, the alphabetically first of several; nil if none is near enough.
    public static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
        let word = Array(name.lowercased().utf8)
        guard word.count <= maxLength else { return nil }
        var best: (distance: Int, name: String)?
        for candidate in candidates {
            let other = Array(candidate.lowercased().utf8)
            let bound = min(best?.distance ?? 3, max(1, max(word.count, other.count) / 3))
            guard let distance = distance(word, other, bound: bound) else { continue }
            if let best, (best.distance, best.name) <= (distance, candidate) { continue }
            best = (distance, candidate)
        }
        return best?.name
    }

    /// A message such as `unknown field "titel"; did you mean "title"?`. If no candidate is near, it lists all
    /// candidates, up to 20, in alphabetical order.
    ///
    /// - Parameter listing: The words before the list, such as `the fields are`; nil for no list.
    public static func unknown(
        _ noun: String, _ name: String, among candidates: some Collection<String>, listing: String? = nil
    ) -> String {
        let start = "unknown \(noun) \"\(name)\""
        if let nearest = nearest(to: name, among: candidates) { return start + "; did you mean \"\(nearest)\"?" }
        guard let listing, !candidates.isEmpty, candidates.count <= 20 else { return start }
        return start + "; \(listing) " + candidates.sorted().joined(separator: ", ")
    }

    private static let maxLength = 128

    /// The number of changed, added, dropped or swapped letters between two words; nil if it is greater than `bound`.
    static func distance(_ a: [UInt8], _ b: [UInt8], bound: Int) -> Int? {
        if abs(a.count - b.count) > bound { return nil }
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            for j in 0..<b.count {
                var cost = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforeLast[j - 1] + 1) }
                row.append(cost)
            }
            guard let least = row.min(), least <= bound else { return nil }
            beforeLast = last
            last = row
        }
        return last[b.count] <= bound ? last[b.count] : nil
    }
}
