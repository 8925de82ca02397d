import ControlProtocol
import Hummingbird
import HummingbirdCore

/// Creates a router with every path of the socket. A test checks that `openapi.json` describes the same paths.
func makeControlRouter(
    control: any JobControl, answers: Answers, stop: StopSignal
) -> Router<ControlContext> {
    let router = Router(context: ControlContext.self)
    let routes = router.group("v1")
    JobRoutes(control: control, stop: stop, answers: answers).add(to: routes)
    EnqueueRoutes(control: control).add(to: routes)
    WatchRoutes(control: control, memory: answers.memory, stop: stop).add(to: routes)
    GraphRoutes(control: control, answers: answers).add(to: routes)
    QueueRoutes(control: control).add(to: routes)
    DefinitionRoutes(control: control, answers: answers).add(to: routes)
    ScheduleRoutes(control: control, answers: answers).add(to: routes)
    DaemonRoutes(control: control).add(to: routes)
    return router
}
