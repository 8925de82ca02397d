import CalendarEvents

extension Catalog {
    /// Checks a change before it is written.
    ///
    /// - Returns: The reasons against the change. If there are none, everything in the change will be usable, and
    ///   everything that is usable now will remain usable.
    public func check(_ change: DefinitionChange) -> [DefinitionProblem] {
        let after = Catalog(definitions.applying(change), after: self)
        var problems = checkQueues(change) + checkNames(change) + checkSchedules(change)
        problems += checkSize(change, after.definitions)
        let touched = Set(change.definitions.map(\.name) + change.graphs.map(\.name))
        let refusedBefore = Set(self.problems.map(\.subject))
        for problem in after.problems {
            guard touched.contains(problem.subject.name) || !refusedBefore.contains(problem.subject) else { continue }
            // This duplicate was reported above.
            if problem.reason == .duplicate, problems.contains(where: { $0.subject.name == problem.subject.name }) {
                continue
            }
            problems.append(problem.naming(removals: change.removals))
        }
        // If a definition is refused, its schedules are not reported as well.
        let refused = Set(problems.map(\.subject.name))
        let touchedSchedules = Set(change.schedules.map(\.name))
        let concerned = after.definitions.schedules(concernedBy: change)
        let schedulesRefusedBefore = Set(
            self.problems(of: definitions.schedules(concernedBy: change)).map(\.subject))
        for problem in after.problems(of: concerned) {
            if case .badWork(.refusedDefinition(let name, _, _)) = problem.reason, refused.contains(name) { continue }
            if touchedSchedules.contains(problem.subject.name) || !schedulesRefusedBefore.contains(problem.subject) {
                problems.append(problem)
            }
        }
        return problems
    }

    private func checkSchedules(_ change: DefinitionChange) -> [DefinitionProblem] {
        var problems: [DefinitionProblem] = []
        var names: Set<String> = []
        let removals = Set(change.scheduleRemovals)
        var all = Set(definitions.schedules.map(\.name)).subtracting(removals)
        let local = Zone.local()
        for schedule in change.schedules {
            func report(_ reason: DefinitionProblem.Reason) {
                problems.append(.init(.schedule(schedule.name), reason))
            }
            if !Names.isName(schedule.name) { report(.badName) }
            if let hidden = schedule.summary.flatMap({ HiddenCharacter(in: $0) }) { report(.hiddenInSummary(hidden)) }
            if !names.insert(schedule.name).inserted { report(.duplicate) }
            if all.insert(schedule.name).inserted, all.count > Schedule.maxCount {
                report(.tooManySchedules)
                continue
            }
            do throws(ZoneProblem) {
                let times = try schedule.times(local: local)
                // A schedule whose last time has passed is accepted, so that a document with it can always be applied
                // again.
                if times.next(after: Timestamp(milliseconds: 0)) == nil { report(.neverComes) }
            } catch {
                report(.unknownZone(error))
            }
        }
        return problems
    }

    /// Checks the total size. Definitions that already exceed the limit may stay, and may change as long as they do not
    /// grow.
    private func checkSize(_ change: DefinitionChange, _ after: DefinitionSet) -> [DefinitionProblem] {
        var largest: (subject: DefinitionProblem.Subject, bytes: Int)?
        func note(_ subject: DefinitionProblem.Subject, _ json: JSONText) {
            if json.bytes.count > largest?.bytes ?? 0 { largest = (subject, json.bytes.count) }
        }
        for definition in change.definitions { note(.definition(definition.name), definition.json) }
        for graph in change.graphs { note(.graph(graph.name), graph.json) }
        for schedule in change.schedules { note(.schedule(schedule.name), schedule.json) }
        guard let subject = largest?.subject else { return [] }
        if after.count > DefinitionSet.maxCount, after.count > definitions.count {
            return [.init(subject, .tooManyDefinitions(after.count))]
        }
        if after.mostBytes <= DefinitionSet.maxBytes { return [] }
        let bytes = after.bytes
        if bytes > DefinitionSet.maxBytes, bytes > definitions.bytes {
            return [.init(subject, .tooLarge(bytes: bytes))]
        }
        return []
    }

    private func checkQueues(_ change: DefinitionChange) -> [DefinitionProblem] {
        var problems: [DefinitionProblem] = []
        var names: Set<String> = []
        var all = Set(definitions.queues.map(\.name)).union([QueueSettings.defaultName])
        for queue in change.queues {
            func report(_ reason: DefinitionProblem.Reason) { problems.append(.init(.queue(queue.name), reason)) }
            if !Names.isName(queue.name) { report(.badName) }
            if !names.insert(queue.name).inserted { report(.duplicate) }
            if all.insert(queue.name).inserted, all.count > QueueSettings.maxCount { report(.tooManyQueues) }
            if let limit = queue.limit, !(1...QueueSettings.maxLimit).contains(limit) {
                report(.limitOutOfRange(limit))
            }
            if let limit = queue.limitPerDaemon?.number, !(1...QueueSettings.maxLimit).contains(limit) {
                report(.limitPerDaemonOutOfRange(limit))
            }
            if let weight = queue.weight, !(1...QueueSettings.maxWeight).contains(weight) {
                report(.weightOutOfRange(weight))
            }
        }
        return problems
    }

    private func checkNames(_ change: DefinitionChange) -> [DefinitionProblem] {
        let removals = Set(change.removals)
        let definitionNames = Set(definitions.definitions.map(\.definition.name))
        let graphNames = Set(definitions.graphs.map(\.definition.name))
        var problems: [DefinitionProblem] = []
        var names: Set<String> = []
        func check(_ subject: DefinitionProblem.Subject, others: Set<String>) {
            let isTaken = others.contains(subject.name) && !removals.contains(subject.name)
            if !names.insert(subject.name).inserted || isTaken { problems.append(.init(subject, .duplicate)) }
        }
        for definition in change.definitions { check(.definition(definition.name), others: graphNames) }
        for graph in change.graphs { check(.graph(graph.name), others: definitionNames) }
        let known = definitionNames.union(graphNames)
        for name in change.removals where !known.contains(name) {
            problems.append(.init(.definition(name), .unknownRemoval(known: known.sorted())))
        }
        return problems
    }
}

extension DefinitionProblem {
    /// If the same change removes the missing definition, reports it as removed instead of unknown.
    fileprivate func naming(removals: [String]) -> DefinitionProblem {
        guard case .badNode(let node, .unknownDefinition(let name, _)) = reason, removals.contains(name) else {
            return self
        }
        return DefinitionProblem(subject, .badNode(node, .removedDefinition(name)))
    }
}

extension DefinitionSet {
    /// Returns the contents of the store after a change: first the removals are applied, then everything else replaces
    /// entries of the same name. Revisions and times differ from those that the store will assign.
    public func applying(_ change: DefinitionChange) -> DefinitionSet {
        var result = self
        let removals = Set(change.removals)
        let never = Timestamp(milliseconds: 0)
        result.definitions = Self.apply(
            change.definitions, \.name, to: definitions, \.definition.name, removing: removals
        ) { definition, old in
            if let old, old.definition == definition { return old }
            return StoredDefinition(
                id: old?.id ?? DefinitionID(0), revision: (old?.revision ?? 0) + 1, definition: definition,
                updatedAt: old?.updatedAt ?? never)
        }
        result.graphs = Self.apply(
            change.graphs, \.name, to: graphs, \.definition.name, removing: removals
        ) { graph, old in
            if let old, old.definition == graph { return old }
            return StoredGraphDefinition(
                revision: (old?.revision ?? 0) + 1, definition: graph, updatedAt: old?.updatedAt ?? never)
        }
        result.queues = Self.apply(change.queues, \.name, to: queues, \.name) { change, old in
            var settings = old ?? QueueSettings(name: change.name)
            settings.apply(change)
            return settings
        }
        result.schedules = Self.apply(
            change.schedules, \.name, to: schedules, \.name, removing: Set(change.scheduleRemovals)
        ) { schedule, _ in schedule }
        return result
    }

    /// Removes entries, then adds or replaces others, and sorts all by name.
    private static func apply<New, Entry>(
        _ news: [New], _ newName: (New) -> String, to entries: [Entry], _ name: (Entry) -> String,
        removing removals: Set<String> = [], _ make: (New, Entry?) -> Entry
    ) -> [Entry] {
        var byName: [String: Entry] = [:]
        for entry in entries where !removals.contains(name(entry)) { byName[name(entry)] = entry }
        for new in news { byName[newName(new)] = make(new, byName[newName(new)]) }
        return byName.sorted { $0.key < $1.key }.map(\.value)
    }
}
