import ControlProtocol
import Definitions
import Jobs
import Logging
import Settings
import StoreControl
import Synchronization

/// Checks the stored definitions at the start, on a reload, and when they change. It stores problems by name
/// and logs them; the other definitions stay usable.
final class DefinitionKeeper: Sendable {
    private let store: any JobStore
    private let logger: Logger
    let catalog: CurrentCatalog
    private let refusals = Mutex(0)

    init(store: any JobStore, logger: Logger) {
        self.store = store
        self.logger = logger
        catalog = CurrentCatalog(store: store)
    }

    /// Writes the first definitions into a database that has neither definitions nor jobs.
    ///
    /// - Throws: ``ConfigurationProblem`` if the document is invalid. Then nothing is written.
    func seed(from path: String?, checkedBy kinds: KindRegistry) async throws {
        guard let path else { return }
        let definitions = try await store.definitions()
        guard definitions.definitions.isEmpty, definitions.graphs.isEmpty,
            try await store.jobs(JobFilter(limit: 1)).isEmpty
        else { return }
        let change = try await DaemonConfiguration.firstDefinitions(path, over: definitions, checkedBy: kinds)
        try await store.change(change, now: now(of: store))
        logger.notice("the new database starts with the definitions in \(path)")
    }

    /// Reads the definitions again, and stores and logs only new or solved problems.
    ///
    /// - Parameter holder: The life of this daemon.
    func load(by holder: HolderID) async throws(StoreError) {
        let catalog = try await catalog.read()
        let definitions = catalog.definitions
        let problems = catalog.problemsByName
        refusals.withLock { $0 = problems.count }
        var known: [String: String] = [:]
        for stored in definitions.definitions { known[stored.definition.name] = stored.problem }
        for stored in definitions.graphs { known[stored.definition.name] = stored.problem }
        guard problems != known else { return }
        try await store.recordProblems(problems, by: holder)
        // The store does not notify observers of recorded problems, so the catalog must be dropped here.
        self.catalog.forget()
        for (name, reason) in problems.sorted(by: { $0.key < $1.key }) where known[name] != reason {
            logger.error(
                "definition \(name): refused: \(reason)",
                metadata: [
                    "HALYARD_EVENT": "definition-refused", "HALYARD_DEFINITION": "\(name)",
                    "HALYARD_ERROR": "\(reason)",
                ])
        }
    }

    /// How many definitions and graph definitions cannot be used.
    var refused: Int { refusals.withLock(\.self) }

    /// Plans the job that a running job enqueues, using the current definitions.
    ///
    /// While the store cannot answer, it asks again, since the attempt has succeeded. Cancelling the task ends this.
    func plan(_ child: ChildJob) async throws(JobFailure) -> NewGraph {
        let catalog = try await planningCatalog()
        do throws(RequestProblem) {
            return try catalog.plan(child)
        } catch {
            throw JobFailure(
                code: JobFailure.Code.invalidOutput, message: "the job that it enqueues is refused: \(error)")
        }
    }

    private func planningCatalog() async throws(JobFailure) -> Catalog {
        while true {
            let failure: StoreError
            do throws(StoreError) {
                return try await catalog.read()
            } catch {
                failure = error
            }
            if failure.isPassing {
                do {
                    try await Task.sleep(for: .milliseconds(500))
                    continue
                } catch {
                    // The attempt was asked to stop, which decides how it ends.
                }
            }
            throw JobFailure(
                code: JobFailure.Code.invalidOutput, message: "the job that it enqueues cannot be planned: \(failure)")
        }
    }
}

extension DaemonConfiguration {
    /// Reads and checks a document of definitions, and returns the changes that it makes to `definitions`.
    static func firstDefinitions(
        _ path: String, over definitions: DefinitionSet, checkedBy kinds: KindRegistry
    ) async throws(ConfigurationProblem) -> DefinitionChange {
        let document: DefinitionDocument
        switch readText(path) {
        case .failure(let failure):
            throw ConfigurationProblem(
                ["definitions: \(failure) To start without such a file, set definitions: \"\"."],
                transientCode: isTransient(failure.code) ? failure.code : nil)
        case .success(let text):
            do throws(DefinitionsProblem) {
                document = try DefinitionDocument.read(text)
            } catch {
                throw ConfigurationProblem(error.descriptions.map { "\(path): \($0)" })
            }
        }
        var problems = Catalog(definitions).check(document.change)
        let refused = Set(problems.map(\.subject))
        let inputs = document.change.ownInputs(over: definitions)
        let found = await InputCheck(kinds: kinds).problems(of: inputs.map(\.planned))
        for (input, problem) in zip(inputs, found) {
            guard let problem = problem.map(input.problem), !refused.contains(problem.subject) else { continue }
            problems.append(problem)
        }
        let wrong = document.descriptions(with: problems)
        guard wrong.isEmpty else { throw ConfigurationProblem(wrong.map { "\(path): \($0)" }) }
        return document.change
    }

    /// Checks everything that could prevent a start.
    ///
    /// - Parameters:
    ///   - refusals: The reasons why the configuration of the workers cannot be used.
    ///   - kinds: The kinds for the first definitions of a new database; nil if the database exists.
    /// - Returns: Warnings: findings that may not affect the daemon, and schedules that will not fire as
    ///   expected.
    @discardableResult
    func check(
        for purpose: ConfigurationCheck.Purpose, refusedByWorkers refusals: [WorkerRefusal] = [],
        firstDefinitions kinds: KindRegistry?
    ) async throws(ConfigurationProblem) -> [String] {
        var check = ConfigurationCheck(self, for: purpose)
        for refusal in refusals { check.add(refusal.sentence, refusal.errorNumber) }
        var problems = check.errors
        var warnings = check.warnings
        var isPermanent = check.isPermanent
        var code = check.code
        if let kinds, let definitions {
            do throws(ConfigurationProblem) {
                let change = try await DaemonConfiguration.firstDefinitions(
                    definitions, over: DefinitionSet(kinds: kinds.descriptions), checkedBy: kinds)
                warnings += change.schedules.compactMap { schedule in
                    schedule.warning(now: wallClock()).map { "\(definitions): schedule \"\(schedule.name)\": \($0)" }
                }
            } catch {
                problems += error.problems
                isPermanent = isPermanent || error.transientCode == nil
                code = code ?? error.transientCode
            }
        }
        guard problems.isEmpty else { throw ConfigurationProblem(problems, transientCode: isPermanent ? nil : code) }
        return warnings
    }
}
