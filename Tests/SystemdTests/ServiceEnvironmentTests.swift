import Glibc
import Testing

@testable import Systemd

@Suite struct ServiceEnvironmentTests {
    @Test func everythingTheManagerSaysIsRead() {
        let environment = ServiceEnvironment(
            [
                "NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "77", "JOURNAL_STREAM": "8:9",
                "INVOCATION_ID": "abc", "STATE_DIRECTORY": "/var/lib/halyard:/var/lib/other",
                "RUNTIME_DIRECTORY": "/run/halyard", "CONFIGURATION_DIRECTORY": "/etc/halyard",
                "CREDENTIALS_DIRECTORY": "/run/credentials/halyard.service",
            ], process: 77)
        #expect(environment.notifySocket == "@x")
        #expect(environment.watchdogInterval == .seconds(20))
        #expect(environment.journalStream == "8:9")
        #expect(environment.invocationID == "abc")
        #expect(environment.stateDirectory == "/var/lib/halyard")
        #expect(environment.runtimeDirectory == "/run/halyard")
        #expect(environment.configurationDirectory == "/etc/halyard")
        #expect(environment.credentialsDirectory == "/run/credentials/halyard.service")
    }

    @Test func aWatchdogMeantForAnotherProcessIsNotOurs() {
        #expect(ServiceEnvironment(["WATCHDOG_USEC": "5", "WATCHDOG_PID": "78"], process: 77).watchdogInterval == nil)
        #expect(ServiceEnvironment(["WATCHDOG_USEC": "5"], process: 77).watchdogInterval == .microseconds(5))
    }

    @Test(arguments: ["", "0", "-1", "soon"])
    func aWatchdogIntervalThatIsNoTimeIsNone(text: String) {
        #expect(ServiceEnvironment(["WATCHDOG_USEC": text], process: 1).watchdogInterval == nil)
    }

    @Test func anEmptyEnvironmentSaysNothing() {
        #expect(ServiceEnvironment([:]) == ServiceEnvironment())
        #expect(ServiceEnvironment(["NOTIFY_SOCKET": "", "STATE_DIRECTORY": ""]) == ServiceEnvironment())
    }

    /// A separate process, because the test changes the environment.
    @Test func takingTheEnvironmentHidesItFromChildren() async {
        await #expect(processExitsWith: .success) {
            for name in ServiceEnvironment.privateVariables { setenv(name, "1000000", 1) }
            setenv("STATE_DIRECTORY", "/var/lib/halyard", 1)
            setenv("WATCHDOG_PID", String(getpid()), 1)
            let taken = ServiceEnvironment.take()
            guard taken.notifySocket == "1000000", taken.watchdogInterval == .seconds(1),
                taken.credentialsDirectory == "1000000", taken.stateDirectory == "/var/lib/halyard"
            else { exit(1) }
            for name in ServiceEnvironment.privateVariables where getenv(name) != nil { exit(2) }
            exit(getenv("STATE_DIRECTORY") == nil ? 3 : 0)
        }
    }
}
