import CalendarEvents
import ControlProtocol
import Jobs
import OperationTypes

extension StoreControl {
    public func schedules() async throws(ControlProblem) -> [ScheduleRecord] {
        let catalog = try await readCatalog()
        let records = try await mappingStoreErrors(await store.schedules())
        return completed(records, catalog.scheduleProblems)
    }

    public func schedule(_ name: String) async throws(ControlProblem) -> ScheduleRecord {
        guard let record = try await mappingStoreErrors(await store.schedule(name)) else {
            throw try await noSchedule(name)
        }
        let catalog = try await readCatalog()
        return completed([record], catalog.problems(of: [record.schedule]))[0]
    }

    static func storedProblem(of record: ScheduleRecord) -> String? {
        record.unreadable.map { "The stored schedule is invalid (\($0)). Apply it again." } ?? record.problem
    }

    /// Adds the values that are not stored to the records.
    private func completed(_ records: [ScheduleRecord], _ problems: [DefinitionProblem]) -> [ScheduleRecord] {
        let problems = Dictionary(
            problems.map { ($0.subject.name, sentence($0.reason.description)) },
            uniquingKeysWith: { "\($0) \($1)" })
        let local = Zone.local()
        return records.map { record in
            var completed = record
            // Only the runner of schedules uses this value.
            completed.sinceLast = .zero
            completed.problem =
                record.unreadable == nil
                ? problems[record.schedule.name] ?? record.problem : Self.storedProblem(of: record)
            completed.nextAt = record.nextAt ?? unplannedNext(record, local)
            return completed
        }
    }

    /// Returns the next time of a schedule that no daemon has planned yet.
    private func unplannedNext(_ record: ScheduleRecord, _ local: Zone) -> Timestamp? {
        guard record.pausedAt == nil else { return nil }
        let times = try? record.schedule.times(local: local)  // The daemon reports a missing time zone.
        return times?.next(after: max(record.afterAt, now()))
    }

    public func setPaused(
        _ isPaused: Bool, schedule name: String
    ) async throws(ControlProblem) -> ScheduleRecord {
        let record = try await mappingStoreErrors(await store.setPaused(isPaused, schedule: name, now: now()))
        guard record != nil else { throw try await noSchedule(name) }
        return try await schedule(name)
    }

    public func run(schedule name: String) async throws(ControlProblem) -> EnqueueReceipt {
        let schedule = try await schedule(name).schedule
        guard await manyJobs.wait() else { throw .endedBeforeItsTurn }
        defer { manyJobs.signal() }
        let graph: NewGraph
        switch try await mappingStoreErrors(await work(of: schedule)) {
        case .refused(let reason): throw ControlProblem(.invalidDefinitions, reason)
        case .enqueue(let planned): graph = planned
        }
        let outcome = try await mappingStoreErrors(await store.run(schedule: name, graph, now: now()))
        guard let outcome else { throw try await noSchedule(name) }
        return try SubmissionAnswer(outcome).receipt()
    }

    public func removeSchedule(_ name: String) async throws(ControlProblem) {
        _ = try await schedule(name)
        try await mappingStoreErrors(await store.change(DefinitionChange(scheduleRemovals: [name]), now: now()))
    }

    /// Plans a schedule's work with the current definitions, and checks it like any other request.
    ///
    /// - Returns: `ScheduledWork.refused(_:)` with the reason if the work cannot be planned or names a
    ///   spooled file.
    /// - Throws: `StoreError` if the definitions cannot be read. Retrying is safe.
    public func work(of schedule: Schedule) async throws(StoreError) -> ScheduledWork {
        let catalog = try await currentCatalog.read()
        let graph: NewGraph
        do throws(RequestProblem) {
            graph = try catalog.plan(schedule.submission)
        } catch {
            return .refused(sentence(error.description))
        }
        let held = spoolUsers?.hold(graph) ?? []
        spoolUsers?.release(held)
        // The spool removes such a file after the first job that uses it.
        if !held.isEmpty {
            return .refused("A schedule cannot use a file in the spool. Name a file inside the roots.")
        }
        let checker = InputChecker(catalog: catalog, check: daemon?.beginInputCheck?())
        if let problem = await checker.problems(of: [graph]).first ?? nil { return .refused(problem.message) }
        return .enqueue(graph)
    }

    private func noSchedule(_ name: String) async throws(ControlProblem) -> ControlProblem {
        if try await definitions().names.contains(name) {
            return ControlProblem(
                .notFound,
                "There is no schedule \"\(name)\", but there is a definition. See: halyard definitions show \(name)")
        }
        let names = try await mappingStoreErrors(await store.schedules()).map(\.schedule.name)
        return .unknown("schedule", name, among: names)
    }
}
