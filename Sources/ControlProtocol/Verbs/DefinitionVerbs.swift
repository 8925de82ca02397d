import Jobs

/// The verbs for definitions and graph definitions.
public protocol DefinitionVerbs: Sendable {
    /// Returns all kinds, queues, definitions, graph definitions and schedules.
    ///
    /// - Throws: ``ControlProblem``.
    func definitions() async throws(ControlProblem) -> DefinitionSet
    /// Returns only the parts that an enqueue by this name needs: the definition or graph definition, the
    /// definitions of its nodes, and their kinds and queues.
    ///
    /// - Throws: ``ControlProblem``, `unknownDefinition` if there is no definition or graph definition of that
    ///   name.
    func definitions(for name: String) async throws(ControlProblem) -> DefinitionSet
    /// Checks a whole document of definitions and, unless `dryRun` is true, stores all of it in one
    /// transaction. Repeating the call is safe.
    ///
    /// - Returns: One line for each entry of the document, also for unchanged ones.
    /// - Throws: ``ControlProblem``, `invalidDefinitions` if anything in the document is wrong. Then nothing
    ///   was changed.
    func apply(_ document: String, dryRun: Bool) async throws(ControlProblem) -> [DefinitionLine]
    /// Removes a definition or a graph definition. Its jobs stay and continue.
    ///
    /// - Throws: ``ControlProblem``: `notFound` if there is none of that name, `inUse` while a graph definition
    ///   or a schedule uses it.
    func removeDefinition(_ name: String) async throws(ControlProblem)
    /// Returns all definitions as a document that ``apply(_:dryRun:)`` accepts without changing anything.
    ///
    /// - Throws: ``ControlProblem``.
    func exportDefinitions() async throws(ControlProblem) -> String
}

extension DefinitionSet {
    /// The names of all definitions and graph definitions.
    package var names: [String] { definitions.map(\.definition.name) + graphs.map(\.definition.name) }
}

extension CallingControl {
    public func definitions() async throws(ControlProblem) -> DefinitionSet {
        try await value(of: Call(.get, "definitions"))
    }

    public func definitions(for name: String) async throws(ControlProblem) -> DefinitionSet {
        try await value(of: Call(.get, "definitions").with(query: ("for", name)))
    }

    public func apply(_ document: String, dryRun: Bool) async throws(ControlProblem) -> [DefinitionLine] {
        var call = Call(.put, "definitions").with(query: ("dry_run", "\(dryRun)"))
        call.contentType = "application/yaml"
        call.body = Array(document.utf8)
        return try await value(of: call)
    }

    public func removeDefinition(_ name: String) async throws(ControlProblem) {
        _ = try await send(Call(.delete, "definitions", name))
    }

    public func exportDefinitions() async throws(ControlProblem) -> String {
        String(decoding: try await send(Call(.get, "definitions").with(query: ("format", "yaml"))), as: UTF8.self)
    }
}

/// Larger than for other bodies, since a document of definitions contains many inputs.
private let maxDocumentBytes = 8 << 20

extension Route {
    static func definitions(_ control: any JobControl) -> [Route] {
        [
            Route(.get, "definitions") { request in
                let query = try request.query("format", "for")
                if let name = query["for"] {
                    guard query["format"] ?? "json" == "json" else {
                        throw ControlProblem(.invalidRequest, "\"for\" works only with JSON. Omit \"format\".")
                    }
                    return .value(try await control.definitions(for: name).json)
                }
                switch query["format"] ?? "json" {
                case "json": return .large { try await control.definitions().json }
                case "yaml": return .text(type: "application/yaml") { try await control.exportDefinitions() }
                case let other:
                    throw ControlProblem(.invalidRequest, "\"format\" must be json or yaml, not \"\(other)\".")
                }
            },
            Route(.put, "definitions") { request in
                let dryRun = try request.query("dry_run").flag("dry_run")
                guard let document = String(validating: try await request.body(maxDocumentBytes), as: UTF8.self) else {
                    throw ControlProblem(.invalidDefinitions, "The document is not UTF-8. Save it as UTF-8.")
                }
                return .value(try await control.apply(document, dryRun: dryRun).json)
            },
            Route(.get, "definitions/{name}") { request in
                let set = try await control.definitions()
                if let found = set.definitions.first(where: { $0.definition.name == request.name }) {
                    return .value(found.json)
                }
                if let found = set.graphs.first(where: { $0.definition.name == request.name }) {
                    return .value(found.json)
                }
                throw ControlProblem.unknown("definition", request.name, among: set.names)
            },
            Route(.delete, "definitions/{name}") { request in
                try await control.removeDefinition(request.name)
                return .done
            },
        ]
    }
}
