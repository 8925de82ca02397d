import OperationTypes
import Synchronization

/// Everything a submission can name, checked and ready for planning.
///
/// A definition that cannot be used is refused by name, and the others go on.
public struct Catalog: Sendable {
    public let definitions: DefinitionSet
    /// What cannot be used, and why; definitions first, then graph definitions.
    public let problems: [DefinitionProblem]
    /// Those of ``scheduleProblems`` once somebody asked.
    private let planned = PlannedSchedules()

    let kinds: [String: KindEntry]
    let queueNames: Set<String>
    let entries: [String: DefinitionEntry]
    let graphs: [String: GraphDefinition]

    /// A definition with its kind and the fields its defaults give.
    final class DefinitionEntry: Sendable {
        let stored: StoredDefinition
        let kind: KindEntry
        let present: Set<String>
        /// Required fields that the defaults do not give.
        let missing: [InputField]

        init(stored: StoredDefinition, kind: KindEntry, present: Set<String>) {
            self.stored = stored
            self.kind = kind
            self.present = present
            missing = kind.required.filter { !present.contains($0.name) }
        }
    }

    public init(_ definitions: DefinitionSet) { self.init(definitions, after: nil) }

    /// - Parameter earlier: Of the same definitions but for a few: what has not changed since is not checked again.
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

    /// Why schedules could not enqueue what they name. Each is planned whole to find out, at the first call.
    public var scheduleProblems: [DefinitionProblem] { planned.problems { problems(of: definitions.schedules) } }

    /// The same of some schedules, planned at each call.
    public func problems(of schedules: [Schedule]) -> [DefinitionProblem] {
        schedules.flatMap { schedule in
            problems(of: schedule.submission).map { DefinitionProblem(.schedule(schedule.name), .badWork($0)) }
        }
    }

    private final class PlannedSchedules: Sendable {
        private let known = Mutex<[DefinitionProblem]?>(nil)

        func problems(_ find: () -> [DefinitionProblem]) -> [DefinitionProblem] {
            if let known = known.withLock(\.self) { return known }
            // Not under the lock, where whoever asks meanwhile would block a thread.
            let found = find()
            known.withLock { $0 = found }
            return found
        }
    }

    /// For the store: the reason by the name of what is refused, several joined.
    public var problemsByName: [String: String] {
        Dictionary(
            problems.map { ($0.subject.name, $0.reason.description) }, uniquingKeysWith: { "\($0). \($1)" })
    }

    /// The names of what can be enqueued, in order.
    public var names: [String] { (Array(entries.keys) + graphs.keys).sorted() }

    var sortedQueueNames: [String] { queueNames.sorted() }
}
