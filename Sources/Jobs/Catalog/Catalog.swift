import OperationTypes
import Synchronization

/// Everything that a submission can name, checked and ready for planning.
///
/// A definition that cannot be used is refused by name; it does not affect the others.
public struct Catalog: Sendable {
    /// The definitions, graph definitions, schedules, queues and kinds that were checked.
    public let definitions: DefinitionSet
    /// The reasons why definitions and graph definitions cannot be used; definitions first.
    public let problems: [DefinitionProblem]
    /// The value of ``scheduleProblems`` after its first use.
    private let planned = PlannedSchedules()

    let kinds: [String: KindEntry]
    let queueNames: Set<String>
    let entries: [String: DefinitionEntry]
    let graphs: [String: GraphDefinition]

    /// A definition with its kind and the fields that its defaults supply.
    final class DefinitionEntry: Sendable {
        let stored: StoredDefinition
        let kind: KindEntry
        let present: Set<String>
        /// The required fields that the defaults do not supply.
        let missing: [InputField]

        init(stored: StoredDefinition, kind: KindEntry, present: Set<String>) {
            self.stored = stored
            self.kind = kind
            self.present = present
            missing = kind.required.filter { !present.contains($0.name) }
        }
    }

    /// Checks definitions. Unusable ones become ``problems``; nothing is thrown.
    public init(_ definitions: DefinitionSet) { self.init(definitions, after: nil) }

    /// Checks definitions, reusing the checks of an earlier catalog.
    ///
    /// - Parameter earlier: A catalog of nearly the same definitions. Definitions that have not changed since are not
    ///   checked again.
    package init(_ definitions: DefinitionSet, after earlier: Catalog?) {
        let earlier = earlier?.definitions.kinds == definitions.kinds ? earlier : nil
        let kinds = Dictionary(
            definitions.kinds.map { ($0.name, KindEntry($0)) }, uniquingKeysWith: { _, last in last })
        let queueNames = Set(definitions.queues.map(\.name)).union([QueueSettings.defaultName])
        var problems: [DefinitionProblem] = []
        var entries: [String: DefinitionEntry] = [:]
        var checker = DefinitionChecker(kinds: kinds, queueNames: queueNames)
        for stored in definitions.definitions {
            if let reason = stored.unreadable {
                problems.append(DefinitionProblem(.definition(stored.definition.name), .unreadable(reason)))
                continue
            }
            let name = stored.definition.name
            if let known = earlier?.entries[name], known.stored.id == stored.id,
                known.stored.revision == stored.revision, queueNames.contains(stored.definition.queue)
            {
                entries[name] = known
                continue
            }
            let (entry, found) = checker.check(stored)
            problems += found.map { DefinitionProblem(.definition(stored.definition.name), $0) }
            if let entry { entries[stored.definition.name] = entry }
        }
        checker.entries = entries
        checker.definitionNames = Set(definitions.definitions.map(\.definition.name))
        checker.graphNames = Set(definitions.graphs.map(\.definition.name))
        var graphs: [String: GraphDefinition] = [:]
        for stored in definitions.graphs {
            if let reason = stored.unreadable {
                problems.append(DefinitionProblem(.graph(stored.definition.name), .unreadable(reason)))
                continue
            }
            let found = checker.check(stored.definition)
            problems += found.map { DefinitionProblem(.graph(stored.definition.name), $0) }
            if found.isEmpty { graphs[stored.definition.name] = stored.definition }
        }
        self.definitions = definitions
        self.problems = problems
        self.kinds = kinds
        self.queueNames = queueNames
        self.entries = entries
        self.graphs = graphs
    }

    /// The reasons why schedules could not enqueue their work. The first access plans every schedule completely to find
    /// them.
    public var scheduleProblems: [DefinitionProblem] { planned.problems { problems(of: definitions.schedules) } }

    /// The reasons why some schedules could not enqueue their work. Each call plans them completely.
    public func problems(of schedules: [Schedule]) -> [DefinitionProblem] {
        schedules.flatMap { schedule in
            problems(of: schedule.submission).map { DefinitionProblem(.schedule(schedule.name), .badWork($0)) }
        }
    }

    private final class PlannedSchedules: Sendable {
        private let known = Mutex<[DefinitionProblem]?>(nil)

        func problems(_ find: () -> [DefinitionProblem]) -> [DefinitionProblem] {
            if let known = known.withLock(\.self) { return known }
            // Computed outside the lock, so that concurrent callers do not block a thread.
            let found = find()
            known.withLock { $0 = found }
            return found
        }
    }

    /// The problems in the form that the store keeps: the reasons by the name of the unusable definition or graph
    /// definition. Several reasons for one name are joined.
    public var problemsByName: [String: String] {
        Dictionary(
            problems.map { ($0.subject.name, $0.reason.description) }, uniquingKeysWith: { "\($0). \($1)" })
    }

    /// The names of everything that can be enqueued, sorted.
    public var names: [String] { (Array(entries.keys) + graphs.keys).sorted() }

    var sortedQueueNames: [String] { queueNames.sorted() }
}
