/// One element of a list: `start`, `start/step`, `start..last` or `start..last/step`.
struct Component: Hashable, Comparable {
    var start: Int
    var last: Int?
    var step: Int?

    /// Shortens a range so that it ends with its last match, and drops a repetition that never happens.
    mutating func normalize() {
        guard var last else { return }
        if let step, last > start {
            last -= (last - start) % step
            self.last = last
        }
        if last == start || (step.map { last > start && start + $0 > last } ?? false) {
            self.last = nil
            step = nil
        }
    }

    /// The first match from `value` to `limit`; nil if there is none.
    func first(from value: Int, to limit: Int) -> Int? {
        if start >= value { return start <= limit ? start : nil }
        guard let step else { return nil }
        let match = start + (value - start + step - 1) / step * step
        return match <= min(last ?? limit, limit) ? match : nil
    }

    /// Converts days counted from the month's end to days of a month with `days` days.
    func countedFromEnd(of days: Int) -> Component {
        let end = days + 1
        guard let last else { return Component(start: end - start, last: nil, step: step) }
        return Component(start: end - last, last: end - start, step: step)
    }

    static func < (a: Component, b: Component) -> Bool {
        (a.start, a.last ?? -1, a.step ?? 0) < (b.start, b.last ?? -1, b.step ?? 0)
    }
}

/// The values of one part of a date or time.
enum Values: Hashable {
    case any
    /// The components in order, without duplicates.
    case list([Component])

    static func only(_ values: Int...) -> Values {
        .list(values.map { Component(start: $0, last: nil, step: nil) })
    }

    func first(from value: Int, to limit: Int) -> Int? {
        switch self {
        case .any: value <= limit ? value : nil
        case .list(let components): components.compactMap { $0.first(from: value, to: limit) }.min()
        }
    }

    /// The values from `value` to `limit`, in order.
    func matches(from value: Int, to limit: Int) -> some Sequence<Int> {
        sequence(state: value) { next in
            guard let match = first(from: next, to: limit) else { return nil }
            next = match + 1
            return match
        }
    }

    func countedFromEnd(of days: Int) -> Values {
        switch self {
        case .any: .any
        case .list(let components): .list(components.map { $0.countedFromEnd(of: days) })
        }
    }
}
