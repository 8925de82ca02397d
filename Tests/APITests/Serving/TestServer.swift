import API
import Client
import ControlProtocol
import Foundation
import JobFiles
import Jobs
import Logging
import OperationTypes
import SQLiteStore
import StoreControl
import Synchronization
import Testing

/// A real server on a real socket over a real store, for one test.
struct TestServer: Sendable {
    let directory: String
    let store: SQLiteJobStore
    let control: StoreControl
    let client: SocketControl
    let reports: ProgressReports
    let files: JobFiles

    var socket: String { directory + "/halyard.sock" }
    var spool: String { directory + "/spool" }

    /// Runs `body` with a server, and stops it afterwards.
    static func with<Value: Sendable>(
        limits: ServerLimits = ServerLimits(), maxSpoolBytes: Int64 = 1 << 30, clock: TestClock = TestClock(),
        unlimitedUsers: Set<UInt32> = [getuid()], isAllowed: @escaping ControlServer.PeerCheck = { _ in true },
        _ body: @Sendable (TestServer) async throws -> Value
    ) async throws -> Value {
        let directory = try temporaryDirectory()
        // A leftover temporary directory is harmless.
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let lock = try DatabaseLock.acquire(forDatabaseAt: directory + "/halyard.db")
        let store = try SQLiteJobStore.open(lock, options: .brief, clock: StoppedClock(wall: TestClock.start))
        try await prepare(store)
        let reports = ProgressReports()
        let files = JobFiles(nextTo: directory + "/halyard.db") { clock.now }
        let hooks = DaemonHooks(
            condition: { .init(state: .running, pid: 42, startedAt: TestClock.start) },
            progress: { reports.latest($0) }, observeProgress: { _, observer in reports.observe(observer) },
            workers: {
                [
                    WorkerRecord(
                        name: "photos", version: "1.0", kinds: ["resize"], processLimit: 2, attemptLimit: 8,
                        processes: [
                            .init(pid: 812, state: .ready, startedAt: TestClock.start, attempts: 3, isProbe: false)
                        ], waiting: 1, crashes: 4, restsUntil: TestClock.start, problem: "It rests.")
                ]
            },
            waitForWorker: { _, isSuspect in isSuspect ? .suspect(worker: "photos") : nil },
            beginInputCheck: {
                { inputs in
                    inputs.map { input in
                        input.input.string.contains("/etc/")
                            ? ControlProblem(.outsideRoots, "It lies outside the roots.") : nil
                    }
                }
            },
            spool: try Spool(directory: directory + "/spool", maxBytes: maxSpoolBytes), files: files)
        let control = StoreControl(
            store: store, database: directory + "/halyard.db", version: "test", daemon: hooks, now: { clock.now })
        let socket = try ControlSocket(path: directory + "/halyard.sock")
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = ControlServer(
            control: control, socket: socket, limits: limits, logger: logger, unlimitedUsers: unlimitedUsers,
            isAllowed: isAllowed)
        let client = SocketControl(path: directory + "/halyard.sock")
        let running = Task { try await server.run() }
        do {
            let value = try await body(
                TestServer(
                    directory: directory, store: store, control: control, client: client, reports: reports, files: files
                ))
            running.cancel()
            try await running.value
            await store.close()
            return value
        } catch {
            running.cancel()
            try await running.value
            await store.close()
            throw error
        }
    }

    /// Serves another control on a second socket.
    func serve(_ control: any JobControl, _ body: @Sendable (SocketControl) async throws -> Void) async throws {
        let path = directory + "/other.sock"
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = ControlServer(control: control, socket: try ControlSocket(path: path), logger: logger)
        let running = Task { try await server.run() }
        let outcome: Result<Void, any Error>
        do {
            try await body(SocketControl(path: path))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        running.cancel()
        try await running.value
        try outcome.get()
    }

    static func temporaryDirectory() throws -> String {
        var template = Array((FileManager.default.temporaryDirectory.path + "/halyard-api-XXXXXX").utf8CString)
        return try #require(
            template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!).map { String(cString: $0) } })
    }
}

extension TestServer {
    static let echo = KindDescription(
        name: "echo", summary: "Gives its text back.", inputType: "Echo.Input", outputType: "Echo.Output",
        accepts: "Echo.Output", offers: "Echo.Output",
        fields: [
            InputField("text", .string, isRequired: true, isFromDependency: true, summary: "What is given back."),
            InputField("file", .string, summary: "A file."),
            InputField("size", .integer, range: 0...9, summary: "A number."),
            InputField("link", .string, schemes: ["https"], summary: "An address."),
        ])

    static func prepare(_ store: SQLiteJobStore) async throws {
        let now = TestClock.start
        try await store.register([echo], now: now)
        try await store.change(
            DefinitionChange(
                queues: [
                    QueueChange(name: "slow", limit: 1), QueueChange(name: QueueSettings.defaultName, limit: 10_000),
                ],
                definitions: [Definition(name: "echo", kind: "echo")],
                graphs: [
                    GraphDefinition(
                        name: "chain",
                        nodes: [
                            .init(name: "first", definition: "echo"),
                            .init(name: "second", definition: "echo", after: [.init(node: "first")]),
                        ], parameters: [.init(name: "text", node: "first", field: "text")])
                ]), now: now)
    }

    /// Claims the jobs that may run, as a runner would.
    func claim(_ slots: Int = 100) async throws -> [ClaimedJob] {
        try await store.exchange([], claim: ClaimRequest(slots: slots), now: TestClock.start).claimed
    }

    func finish(_ lease: Lease, _ ending: AttemptEnd.Ending, connections: JSONText? = nil) async throws {
        let answer = try await store.exchange(
            [AttemptEnd(lease: lease, ending: ending, connections: connections)], claim: nil, now: TestClock.start)
        #expect(answer.finished.count == 1)
    }

    /// Runs all jobs to success, as many as possible at once, until none can run.
    func runAll() async throws {
        var ends: [AttemptEnd] = []
        while true {
            let answer = try await store.exchange(ends, claim: ClaimRequest(slots: 10_000), now: TestClock.start)
            ends = answer.claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(json(#"{"text":"done"}"#))) }
            if ends.isEmpty { return }
        }
    }

    func enqueue(_ submission: Submission) async throws -> EnqueueReceipt {
        guard case .enqueued(let receipt)? = try await control.enqueue([submission]).first else {
            throw TestFailure("the submission was not accepted")
        }
        return receipt
    }
}

struct TestFailure: Error {
    let message: String
    init(_ message: String) { self.message = message }
}

/// A clock that moves only when the test advances it.
final class TestClock: Sendable {
    static let start = Timestamp(milliseconds: 1_800_000_000_000)
    private let moment = Mutex(TestClock.start)
    var now: Timestamp { moment.withLock(\.self) }
    func advance(by duration: Duration) { moment.withLock { $0 = $0 + duration } }
}

func json(_ text: String) -> JSONText { JSONText(trusted: Array(text.utf8)) }

extension Submission {
    static func echo(_ text: String, key: String? = nil) -> Submission {
        Submission(.definition("echo"), input: JSONText(trusted: Array("{\"text\":\"\(text)\"}".utf8)), key: key)
    }
}

/// Provides the progress of running attempts.
final class ProgressReports: Sendable {
    fileprivate struct State {
        var latest: [JobID: OperationProgress] = [:]
        var observers: [Int: ProgressObserver] = [:]
        var next = 0
        var waiting: (count: Int, continuation: CheckedContinuation<Void, Never>)?

        mutating func takeWaiting() -> CheckedContinuation<Void, Never>? {
            waiting?.count == observers.count ? waiting.take()?.continuation : nil
        }
    }

    fileprivate let state = Mutex(State())

    func latest(_ job: JobID) -> OperationProgress? { state.withLock { $0.latest[job] } }

    func observe(_ observer: @escaping ProgressObserver) -> StoreObservation {
        let (ticket, waiting) = state.withLock { state in
            state.next += 1
            state.observers[state.next] = observer
            return (state.next, state.takeWaiting())
        }
        waiting?.resume()
        return StoreObservation { [weak self] in
            let waiting = self?.state.withLock { state in
                state.observers[ticket] = nil
                return state.takeWaiting()
            }
            waiting?.resume()
        }
    }

    var observerCount: Int { state.withLock(\.observers.count) }

    func report(_ job: JobID, _ progress: OperationProgress) {
        let observers = state.withLock { state in
            state.latest[job] = progress
            return state.observers.values
        }
        for observer in observers { observer(job, progress) }
    }
}

extension ProgressReports {
    /// Returns when there are exactly `count` observers, one for each watch.
    func waitForObservers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.observers.count == count { return true }
                state.waiting = (count, continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}

/// Stopped clocks, since these tests use the same time for every request.
struct StoppedClock: StoreClock {
    let wall: Timestamp
    var boot: String { "the only one" }
    var sinceBoot: Duration { .seconds(1000) }
}
