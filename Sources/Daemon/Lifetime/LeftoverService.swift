import ControlProtocol
import Logging
import Runner
import ServiceLifecycle
import StoreControl

/// Removes the files of jobs that other daemons have pruned, once, when the daemon is ready: there may be very many.
struct LeftoverService: Service {
    let runner: JobRunner
    let control: StoreControl
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            guard await runner.waitUntilReady() else { return }
            do throws(ControlProblem) {
                try await control.removeFilesOfUnknownJobs()
            } catch {
                logger.warning("The files of pruned jobs were not removed; the next start retries it: \(error.message)")
            }
        }
    }
}
