import ControlProtocol
import Hummingbird
import HummingbirdCore
import Jobs

struct ScheduleRoutes: Sendable {
    let control: any JobControl
    let answers: Answers

    func add(to routes: RouterGroup<ControlContext>) {
        routes.get("schedules") { _, context in
            try await answers.answer(context) { try await control.schedules().json }
        }
        routes.get("schedules/{name}") { _, context in Response(try await control.schedule(context.name)) }
        routes.patch("schedules/{name}") { _, context in
            let change: ScheduleChange = try await read(context.body.json())
            return Response(try await control.setPaused(change.isPaused, schedule: context.name))
        }
        routes.post("schedules/{name}/run") { _, context in
            Response(try await control.run(schedule: context.name), status: .created)
        }
        routes.delete("schedules/{name}") { _, context in
            try await control.removeSchedule(context.name)
            return Response.done
        }
    }
}
