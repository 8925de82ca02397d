import ControlProtocol
import Hummingbird
import HummingbirdCore
import Jobs

struct DefinitionRoutes: Sendable {
    let control: any JobControl
    let answers: Answers

    /// Larger than for other bodies, since a document of definitions contains many inputs.
    private static let maxDocumentBytes = 8 << 20

    func add(to routes: RouterGroup<ControlContext>) {
        routes.get("definitions") { request, context in
            let query = try Query(request, known: "format", "for")
            if let name = query["for"] {
                guard query["format"] ?? "json" == "json" else {
                    throw ControlProblem(.invalidRequest, "\"for\" works only with JSON. Omit \"format\".")
                }
                return try await Response(control.definitions(for: name))
            }
            switch query["format"] ?? "json" {
            case "json": return try await answers.answer(context) { try await control.definitions().json }
            case "yaml":
                return try await answers.answer(context, type: "application/yaml") {
                    try await Array(control.exportDefinitions().utf8)
                }
            case let other: throw ControlProblem(.invalidRequest, "\"format\" must be json or yaml, not \"\(other)\".")
            }
        }
        routes.put("definitions") { request, context in
            let dryRun = try Query(request, known: "dry_run").flag("dry_run")
            let bytes = try await context.body.collect(limit: Self.maxDocumentBytes)
            guard let document = String(validating: bytes, as: UTF8.self) else {
                throw ControlProblem(.invalidDefinitions, "The document is not UTF-8. Save it as UTF-8.")
            }
            return Response(try await control.apply(document, dryRun: dryRun))
        }
        routes.get("definitions/{name}") { _, context in
            let set = try await control.definitions()
            if let found = set.definitions.first(where: { $0.definition.name == context.name }) {
                return Response(found)
            }
            if let found = set.graphs.first(where: { $0.definition.name == context.name }) { return Response(found) }
            let known = set.definitions.map(\.definition.name) + set.graphs.map(\.definition.name)
            throw ControlProblem(
                .notFound,
                sentence(NearestName.unknown("definition", context.name, among: known, listing: "there are")))
        }
        routes.delete("definitions/{name}") { _, context in
            try await control.removeDefinition(context.name)
            return Response.done
        }
    }
}
