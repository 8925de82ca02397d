import Foundation
import Jobs
import Logging
import OperationTypes
import SQLiteStore
import Synchronization
import Testing

@testable import Runner

/// A real database in a directory of its own, and runners on it.
final class RunnerHarness: Sendable {
    let directory: URL
    let store: SQLiteJobStore
    let wall = ManualClock(Timestamp(milliseconds: 1_700_000_000_000))
    let uptime = ManualClock(Duration.seconds(1000))
    let log = LogRecorder()
    let exchanges = Mutex(0)
    private let kinds: KindRegistry
    private let definitions: [String: DefinitionID]

    static func withStore<Value>(
        _ definitions: [Definition] = [RunnerHarness.scripted()], queues: [QueueChange] = [],
        run body: @escaping Scripted.Body = { input, _ throws(TestFailure) in input },
        _ use: (RunnerHarness) async throws -> Value
    ) async throws -> Value {
        let directory = FileManager.default.temporaryDirectory.appending(path: "halyard-runner-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer {
            // A directory that stays in the temporary folder harms nobody.
            try? FileManager.default.removeItem(at: directory)
        }
        let harness = try await RunnerHarness(directory, definitions, queues, body)
        do {
            let value = try await use(harness)
            await harness.store.close()
            return value
        } catch {
            await harness.store.close()
            throw error
        }
    }

    private init(
        _ directory: URL, _ definitions: [Definition], _ queues: [QueueChange], _ body: @escaping Scripted.Body
    ) async throws {
        self.directory = directory
        kinds = try KindRegistry([Scripted(body: body), MakeLink(), ReadLinks()])
        let lock = try DatabaseLock.acquire(forDatabaseAt: directory.appending(path: "halyard.db").path)
        store = try SQLiteJobStore.open(
            lock, options: StoreOptions(busyTimeout: .milliseconds(1), walBytes: 0, minimumFreeBytes: 0),
            clock: ManualStoreClock(wallClock: wall))
        try await store.register(kinds.descriptions, now: wall.now)
        try await store.change(
            DefinitionChange(
                queues: [QueueChange(name: QueueSettings.defaultName, limit: QueueSettings.maxLimit)] + queues,
                definitions: definitions), now: wall.now)
        self.definitions = try await store.definitions().definitions.reduce(into: [:]) {
            $0[$1.definition.name] = $1.id
        }
    }

    static func scripted(
        _ name: String = "scripted", kind: String = "scripted", retry: RetryPolicy = .never, timeout: Duration? = nil,
        input: JSONText = .emptyObject
    ) -> Definition {
        Definition(name: name, kind: kind, retry: retry, timeout: timeout, input: input)
    }

    // MARK: Jobs

    func id(_ definition: String) throws -> DefinitionID { try #require(definitions[definition]) }

    func job(
        _ definition: String = "scripted", input: String? = nil, queue: String = QueueSettings.defaultName,
        priority: Priority = .normal, dueAt: Timestamp? = nil, wait: Duration? = nil, after: [NewDependency] = []
    ) throws -> NewJob {
        NewJob(
            definition: try id(definition), input: input.map { JSONText(trusted: Array($0.utf8)) }, queue: queue,
            priority: priority, start: dueAt.map { .at($0) } ?? wait.map { .after($0) } ?? .now, dependencies: after)
    }

    @discardableResult
    func enqueue(_ jobs: [NewJob], isGraph: Bool = false) async throws -> [JobID] {
        let outcome = try await store.enqueue([NewGraph(isGraph: isGraph, jobs: jobs)], now: wall.now)
        guard case .enqueued(let receipt) = outcome.first else {
            Issue.record("refused: \(outcome)")
            return []
        }
        return receipt.jobs
    }

    @discardableResult
    func enqueue(_ job: NewJob) async throws -> JobID { try #require(try await enqueue([job]).first) }

    // MARK: Runners

    func runner(
        on store: (any JobStore)? = nil, lifeClock: ManualClock<Duration>? = nil,
        uptimeClock: (any AlarmClock<Duration>)? = nil, serving served: [String]? = nil,
        settings: RunnerSettings = RunnerSettings(), random: Double = 0.5,
        beforeEachExchange: (@Sendable () async -> Void)? = nil
    ) -> JobRunner {
        JobRunner(
            store: store ?? self.store, as: Holder(identity: "runner", host: "localhost", version: "0", kinds: served),
            kinds: kinds, settings: settings,
            logger: Logger(label: "test") { [log] _ in log.handler() },
            wallClock: wall, uptimeClock: uptimeClock ?? uptime, lifeClock: lifeClock ?? uptime, random: { random },
            beforeEachExchange: { [weak self] in
                self?.exchanges.withLock { $0 += 1 }
                await beforeEachExchange?()
            },
            planChild: { [definitions] child throws(JobFailure) in
                guard let id = definitions[child.definition] else {
                    throw JobFailure(code: "unknown_definition", message: "no \(child.definition)")
                }
                return NewGraph(isGraph: false, jobs: [NewJob(definition: id, input: child.input)])
            })
    }

    /// Runs a runner beside `use`, then interrupts what still runs and waits for its end.
    @discardableResult
    func running<Value: Sendable>(
        _ runner: JobRunner, _ use: (JobRunner) async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await runner.run() }
            do {
                let isReady = await runner.waitUntilReady()
                let value = try await use(runner)
                runner.interrupt()
                try await group.waitForAll()
                #expect(isReady)
                return value
            } catch {
                runner.interrupt()
                throw error
            }
        }
    }

    @discardableResult
    func running<Value: Sendable>(_ use: (JobRunner) async throws -> Value) async throws -> Value {
        try await running(runner(), use)
    }

    // MARK: Waiting and looking

    /// Waits until a job is in one of `states`.
    @discardableResult
    func wait(_ runner: JobRunner, for job: JobID, in states: Set<JobState> = JobState.final) async throws -> JobState {
        let events = runner.events.subscribe(.job(job))
        if let state = try await store.job(job)?.state, states.contains(state) { return state }
        for await event in events {
            if case .changed(let change) = event, states.contains(change.state) { return change.state }
        }
        Issue.record("the runner ended before job \(job) was in \(states)")
        return .blocked
    }

    func wait(_ runner: JobRunner, for jobs: [JobID]) async throws {
        for job in jobs { try await wait(runner, for: job) }
    }

    func output(_ job: JobID) async throws -> String? {
        guard case .succeeded(let text) = try await store.result(of: job)?.value else { return nil }
        return text.string
    }

    func failure(_ job: JobID) async throws -> JobFailure? {
        guard case .ended(_, let failure) = try await store.result(of: job)?.value else { return nil }
        return failure
    }
}

extension JobState {
    static let final: Set<JobState> = [.succeeded, .failed, .cancelled, .skipped]
}
