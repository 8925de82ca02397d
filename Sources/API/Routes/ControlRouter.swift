import Control
import Hummingbird
import HummingbirdCore

/// Every path of the socket. `openapi.json` describes the same ones, which a test compares.
func makeControlRouter(control: any JobControl, stop: StopSignal) -> Router<ControlContext> {
    let large = LargeAnswers(stop: stop)
    let router = Router(context: ControlContext.self)
    let routes = router.group("v1")
    JobRoutes(control: control, stop: stop, large: large).add(to: routes)
    EnqueueRoutes(control: control).add(to: routes)
    WatchRoutes(control: control, stop: stop).add(to: routes)
    GraphRoutes(control: control, large: large).add(to: routes)
    QueueRoutes(control: control).add(to: routes)
    DefinitionRoutes(control: control, large: large).add(to: routes)
    ScheduleRoutes(control: control, large: large).add(to: routes)
    DaemonRoutes(control: control).add(to: routes)
    return router
}
