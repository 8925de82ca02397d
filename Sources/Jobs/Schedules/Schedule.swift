import CalendarEvents

/// A rule that enqueues a definition or a graph definition at calendar times, as a person writes it.
public struct Schedule: Hashable, Sendable {
    /// The behavior if a time comes before the job or graph of the previous time has ended.
    public enum Overlap: String, CaseIterable, Sendable {
        /// Nothing is enqueued for that time.
        case skip
        /// The work is enqueued nevertheless.
        case allow
    }

    /// The maximum number of schedules. It is limited because every change checks all of them.
    public static let maxCount = 1000
    /// The maximum number of expressions in one schedule.
    public static let maxExpressions = 32

    /// The name: `[a-z0-9][a-z0-9._-]*`, at most 64 bytes. A schedule may have the same name as a definition.
    public var name: String
    /// A description for people; nil for none.
    public var summary: String?
    /// The calendar expressions, 1 to ``maxExpressions``. The earliest time of all of them is the next time.
    public var calendar: [CalendarExpression]
    /// The name of the definition or graph definition to enqueue.
    public var definition: String
    /// The explicit input, as in ``Submission/input``; nil for none.
    public var input: JSONText?
    /// The name of the queue, as in ``Submission/queue``; nil for the definition's own.
    public var queue: String?
    /// The priority, as in ``Submission/priority``; nil for the definition's own.
    public var priority: Priority?
    /// Whether times that passed while no daemon ran are made up for. However many there were, the schedule fires once
    /// for all of them.
    public var isPersistent: Bool
    /// Default: ``Overlap/skip``.
    public var overlap: Overlap

    /// Creates a schedule; ``Catalog/check(_:)`` checks it.
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

    /// The submission that enqueues the schedule's work once.
    public var submission: Submission {
        Submission(.definition(definition), input: input, queue: queue, priority: priority)
    }

    /// The times of the schedule. The time zones that it names are loaded from the system's database.
    ///
    /// - Parameter local: The zone for expressions that do not name one.
    /// - Throws: `ZoneProblem` if a zone does not exist or its file is invalid.
    public func times(local: Zone) throws(ZoneProblem) -> CalendarTimes { try CalendarTimes(calendar, local: local) }

    /// A warning for people if the schedule is valid but probably a mistake; otherwise nil.
    package func warning(now: Timestamp) -> String? {
        // A missing zone is reported as a problem, not as a warning.
        guard let times = try? times(local: .local()), times.next(after: now) == nil else { return nil }
        return "its last time has passed, so it will not fire; change its calendar or remove it"
    }
}

extension CalendarTimes {
    /// The first time after a moment, rounded up to a whole millisecond. Nil if there is none.
    public func next(after moment: Timestamp) -> Timestamp? {
        let (microseconds, overflow) = Int(moment.milliseconds).multipliedReportingOverflow(by: 1000)
        if overflow { return nil }
        return next(after: microseconds).map { Timestamp(milliseconds: Int64(($0 + 999) / 1000)) }
    }
}

extension Zone {
    /// The moment as local time in this zone, such as `Mon 2026-11-23 09:00:00 CET`.
    public func text(_ moment: Timestamp) -> String { text(Int(moment.milliseconds) * 1000) }
}
