import ControlProtocol
import Hummingbird
import HummingbirdCore
import Jobs

struct DaemonRoutes: Sendable {
    let control: any JobControl

    func add(to routes: RouterGroup<ControlContext>) {
        routes.get("status") { _, _ in Response(try await control.status()) }
        routes.post("reload") { _, _ in
            try await control.reload()
            return Response.done
        }
        routes.post("spool") { _, context in
            let file = try await control.spool(context.body.chunks, size: context.body.length)
            return Response(SpoolAnswer(file: file), status: .created)
        }
        routes.get("openapi.json") { _, _ in Response(json: PackageResources.openapi_json) }
    }
}
