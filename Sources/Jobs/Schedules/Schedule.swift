import CalendarEvents

/// What is enqueued when, by the calendar: what a person writes.
public struct Schedule: Hashable, Sendable {
    /// What happens when a time comes while the last one's job or graph is not final.
    public enum Overlap: String, CaseIterable, Sendable {
        /// The time is left out.
        case skip
        case allow
    }

    /// How many schedules there may be: every change looks at each.
    public static let maxCount = 1000
    /// How many expressions one may have.
    public static let maxExpressions = 32

    /// `[a-z0-9][a-z0-9._-]*`, at most 64 bytes; schedules have a space of names of their own.
    public var name: String
    public var summary: String?
    /// 1 to ``maxExpressions``; the earliest counts.
    public var calendar: [CalendarExpression]
    /// A definition or a graph definition, by name.
    public var definition: String
    /// As in ``Submission/input``.
    public var input: JSONText?
    public var queue: String?
    public var priority: Priority?
    /// Whether times that came while no daemon ran are made up for, once for all of them.
    public var isPersistent: Bool
    public var overlap: Overlap

    public init(
        name: String, summary: String? = nil, calendar: [CalendarExpression], definition: String,
        input: JSONText? = nil, queue: String? = nil, priority: Priority? = nil, isPersistent: Bool = false,
        overlap: Overlap = .skip
    ) {
        self.name = name
        self.summary = summary
        self.calendar = calendar
        self.definition = definition
        self.input = input
        self.queue = queue
        self.priority = priority
        self.isPersistent = isPersistent
        self.overlap = overlap
    }

    /// What it enqueues.
    public var submission: Submission {
        Submission(.definition(definition), input: input, queue: queue, priority: priority)
    }

    /// Its times, with the zones it names read from the system's database.
    ///
    /// - Parameter local: The zone of expressions that name none.
    public func times(local: Zone) throws(ZoneProblem) -> CalendarTimes { try CalendarTimes(calendar, local: local) }

    /// Why it is hardly meant as it stands, though it can be kept; nil where it is not so.
    package func warning(now: Timestamp) -> String? {
        // A zone that is not there is a problem of its own.
        guard let times = try? times(local: .local()), times.next(after: now) == nil else { return nil }
        return "its last time has passed, so it never comes; change its calendar or remove it"
    }
}

extension CalendarTimes {
    /// The first time after a moment; a fraction of a millisecond counts as a whole one. Nil when there is none.
    public func next(after moment: Timestamp) -> Timestamp? {
        let (microseconds, overflow) = Int(moment.milliseconds).multipliedReportingOverflow(by: 1000)
        if overflow { return nil }
        return next(after: microseconds).map { Timestamp(milliseconds: Int64(($0 + 999) / 1000)) }
    }
}

extension Zone {
    /// `Mon 2026-11-23 09:00:00 CET`
    public func text(_ moment: Timestamp) -> String { text(Int(moment.milliseconds) * 1000) }
}
