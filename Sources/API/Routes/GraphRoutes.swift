import ControlProtocol
import Hummingbird
import HummingbirdCore
import Jobs

struct GraphRoutes: Sendable {
    let control: any JobControl
    let answers: Answers

    func add(to routes: RouterGroup<ControlContext>) {
        routes.get("graphs") { request, context in
            let query = try Query(request, known: "limit", "before")
            let limit = try query.number("limit") ?? 100
            guard limit <= 10_000 else {
                throw ControlProblem(.invalidRequest, "\"limit\" must be a number from 1 to 10000, not \(limit).")
            }
            let before = try query.number("before").map { GraphID($0) }
            let graphs = try await control.graphPages(limit: Int(limit), before: before)
            return try await answers.answer(context, .array(of: graphs))
        }
        routes.get("graphs/{id}") { _, context in
            let id = try context.graph()
            return try await answers.answer(context, .graph(control.pages(of: id)))
        }
        routes.post("graphs/{id}/cancel") { _, context in
            Response(try await control.cancel(.graph(context.graph())))
        }
    }
}
