import Client
import ControlProtocol
import Foundation
import Testing

@Suite struct ThreadLoopTests {
    @Test func everythingRunsOnTheCallingThread() async {
        await #expect(processExitsWith: .exitCode(7)) {
            Thread {
                let caller = pthread_self()
                ThreadLoop.run {
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<3 {
                            group.addTask {
                                await Task.yield()
                                if pthread_self() != caller { exit(1) }
                            }
                        }
                    }
                    // Nothing listens there, which the client notices on the loop.
                    let code: ControlProblem.Code?
                    do throws(ControlProblem) {
                        try await SocketControl(path: "/nonexistent").connect()
                        code = nil
                    } catch {
                        code = error.code
                    }
                    exit(pthread_self() == caller && code == .noDaemon ? 7 : 2)
                }
            }.start()
            // The loop ends the process.
            while true { pause() }
        }
    }
}
