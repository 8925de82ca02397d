import FoundationEssentials
import Jobs
import OperationTypes
import SQLite
import StoreParts

extension Writer {
    /// - Returns: False if there would be too many schedules. Nothing was written then.
    func change(_ change: DefinitionChange, now: Timestamp) throws(SQLiteError) -> Bool {
        guard try hasRoom(for: change) else { return false }
        for queue in change.queues { _ = try self.change(queue, now: now) }
        for name in change.removals { try retire(name, now: now) }
        for definition in change.definitions { try write(definition, now: now) }
        for graph in change.graphs { try write(graph, now: now) }
        for name in change.scheduleRemovals { try removeSchedule(name) }
        for schedule in change.schedules { try write(schedule, now: now) }
        return true
    }

    /// Whether the change keeps the number of schedules within the limit. Existing schedules can always be changed.
    private func hasRoom(for change: DefinitionChange) throws(SQLiteError) -> Bool {
        if change.schedules.isEmpty { return true }
        var removed: Set<String> = []
        for name in change.scheduleRemovals where try schedule(name) != nil { removed.insert(name) }
        var added: Set<String> = []
        for schedule in change.schedules {
            let isThere = try self.schedule(schedule.name) != nil
            if !isThere || removed.contains(schedule.name) { added.insert(schedule.name) }
        }
        if added.count <= removed.count { return true }
        let count = try scheduling.count.first { Int($0.integer(0)) } ?? 0
        return count - removed.count + added.count <= Schedule.maxCount
    }

    func register(_ kinds: [KindDescription], now: Timestamp) throws(SQLiteError) {
        try settings.deleteKinds.run()
        for kind in kinds {
            try settings.insertKind.run([
                .name <- kind.name, .summary <- kind.summary, .inputType <- kind.inputType,
                .outputType <- kind.outputType, .accepts <- kind.accepts, .offers <- kind.offers,
                .fields <- BoundValue.utf8(try encode(kind.fields)), .now <- now,
            ])
        }
        definitionsChanged = true
    }

    func recordProblems(_ problems: [String: String]) throws(SQLiteError) {
        try settings.clearDefinitionProblems.run()
        try settings.clearGraphProblems.run()
        for (name, problem) in problems {
            try settings.setDefinitionProblem.run([.name <- name, .problem <- problem])
            try settings.setGraphProblem.run([.name <- name, .problem <- problem])
        }
        // Observers are not notified. They record problems whenever definitions change, so a notification would make
        // them record the problems again, without end.
    }

    // MARK: Revisions

    private func write(_ definition: Definition, now: Timestamp) throws(SQLiteError) {
        let current = try settings.currentDefinition.first([.name <- definition.name]) { $0.storedDefinition() }
        if let current, current.definition == definition, current.unreadable == nil { return }
        try retire(definition.name, now: now)
        try settings.insertDefinition.run([
            .name <- definition.name, .kind <- definition.kind, .summary <- definition.summary,
            .queue <- definition.queue, .priority <- definition.priority, .retry <- definition.retry.json,
            .tries <- definition.retry.tries, .timeout <- definition.timeout?.milliseconds, .input <- definition.input,
            .now <- now, .program <- definition.program?.json,
        ])
        memory.admit(DefinitionID(connection.lastInsertedRow), kind: definition.kind)
        definitionsChanged = true
    }

    private func write(_ graph: GraphDefinition, now: Timestamp) throws(SQLiteError) {
        let current = try settings.currentGraph.first([.name <- graph.name]) { $0.storedGraphDefinition() }
        if let current, current.definition == graph, current.unreadable == nil { return }
        try retire(graph.name, now: now)
        try settings.insertGraph.run([
            .name <- graph.name, .body <- graph.json, .now <- now, .summary <- graph.summary,
        ])
        definitionsChanged = true
    }

    /// Definitions and graph definitions share one namespace, so a new definition of either sort replaces both.
    private func retire(_ name: String, now: Timestamp) throws(SQLiteError) {
        let definitions = try settings.retireDefinition.runCountingChanges([.name <- name, .now <- now])
        let graphs = try settings.retireGraph.runCountingChanges([.name <- name, .now <- now])
        if definitions + graphs > 0 { definitionsChanged = true }
    }
}

// MARK: Rows

private func encode(_ fields: [InputField]) throws(SQLiteError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
        return Array(try encoder.encode(fields))
    } catch {
        throw SQLiteError(
            code: SQLiteError.Primary.mismatch.rawValue, message: "the fields cannot be encoded as JSON: \(error)")
    }
}

extension Statement {
    /// Columns: id, name, revision, kind, summary, queue, priority, retry, timeout_ms, input, updated_ms, problem,
    /// program.
    func storedDefinition() -> StoredDefinition {
        var retry = RetryPolicy.never
        var unreadable: String?
        do throws(ShapeProblem) {
            retry = try RetryPolicy(json: json(7) ?? .emptyObject, at: [])
        } catch {
            unreadable = "retry: \(error)"
        }
        var program: ProgramDefinition?
        do throws(ShapeProblem) {
            program = try json(12).map { (json) throws(ShapeProblem) in try ProgramDefinition(json: json, at: []) }
        } catch {
            unreadable = "\(error)"
        }
        return StoredDefinition(
            id: DefinitionID(integer(0)), revision: Int(integer(2)),
            definition: Definition(
                name: string(1), kind: string(3), summary: optionalString(4), queue: string(5),
                priority: Priority(rawValue: Int(integer(6))) ?? .normal,
                retry: retry, timeout: optionalInteger(8).map { .milliseconds($0) }, input: json(9) ?? .emptyObject,
                program: program),
            updatedAt: timestamp(10), problem: optionalString(11), unreadable: unreadable)
    }

    /// Columns: name, revision, body, updated_ms, problem.
    func storedGraphDefinition() -> StoredGraphDefinition {
        let definition: GraphDefinition
        var unreadable: String?
        do throws(ShapeProblem) {
            definition = try GraphDefinition(json: json(2) ?? .emptyObject, at: [])
        } catch {
            definition = GraphDefinition(name: string(0), nodes: [])
            unreadable = "\(error)"
        }
        return StoredGraphDefinition(
            revision: Int(integer(1)), definition: definition, updatedAt: timestamp(3),
            problem: optionalString(4), unreadable: unreadable)
    }

    /// Columns: name, summary, input_type, output_type, accepts, offers, fields.
    func kindDescription() throws(SQLiteError) -> KindDescription {
        let fields: [InputField]
        do {
            fields = try JSONDecoder().decode([InputField].self, from: Data(bytes(6) ?? []))
        } catch {
            throw SQLiteError(
                code: SQLiteError.Primary.corrupt.rawValue,
                message: "the fields of kind \(string(0)) are invalid: \(error)")
        }
        return KindDescription(
            name: string(0), summary: string(1), inputType: string(2), outputType: string(3),
            accepts: optionalString(4), offers: string(5), fields: fields)
    }
}
