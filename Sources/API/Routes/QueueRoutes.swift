import ControlProtocol
import Hummingbird
import HummingbirdCore
import Jobs

struct QueueRoutes: Sendable {
    let control: any JobControl

    func add(to routes: RouterGroup<ControlContext>) {
        routes.get("queues") { _, _ in Response(try await control.queues()) }
        routes.get("queues/{name}") { _, context in
            let queues = try await control.queues()
            guard let queue = queues.first(where: { $0.settings.name == context.name }) else {
                throw ControlProblem(
                    .unknownQueue, "There is no queue \"\(context.name)\". GET /v1/queues lists all queues.")
            }
            return Response(queue)
        }
        routes.patch("queues/{name}") { _, context in
            guard var fields = JSONObject(try await context.body.json()) else {
                throw ControlProblem(
                    .invalidRequest, "The body must be an object with limit, weight, paused or create.")
            }
            let name = JSONText(string: context.name)
            guard fields["name"] == nil || fields["name"]?.decodedString == context.name else {
                throw ControlProblem(
                    .invalidRequest, "\"name\" differs from the name in the path. A queue cannot be renamed.")
            }
            fields["name"] = name
            let request = try read(fields.text, as: QueueRequest.self)
            return Response(try await control.change(request.change, create: request.create))
        }
        routes.delete("queues/{name}") { _, context in
            try await control.removeQueue(context.name)
            return Response.done
        }
    }
}
