import Client
import ControlProtocol
import Foundation
import Jobs
import WorkerProtocol

private let jobs = 20_000

/// Measures what it costs to run a job in another process, through the daemon: 20,000 stored no-op jobs that a worker
/// runs, compared with a daemon that runs them in its own process. Both store their jobs in the same way, so that the
/// difference is the worker's.
func measureWorkers() async throws -> [Row] {
    let many = try await NoOpCosts(limit: 256)
    let few = try await NoOpCosts(limit: 16)
    var rows = [
        Row(
            "no-op jobs in a worker, 256 at once", many.rates.worker, to: many.rates.here, "jobs/s",
            ratio: .atLeast(0.7)),
        Row("extra processor time of such a job", many.extraMicroseconds, "µs", .atMost(15)),
        Row("no-op jobs in a worker, 16 at once", few.rates.worker, to: few.rates.here, "jobs/s", ratio: nil),
        Row("extra processor time of such a job", few.extraMicroseconds, "µs", .atMost(30)),
    ]
    let program = Program.sibling("halyard-worker")
    let start = try await medians(ofRounds: 20) {
        let worker = try StartedWorker(program)
        return [worker.milliseconds, worker.megabytes]
    }
    rows += [
        Row("start of halyard-worker", start[0], "ms", .atMost(30)),
        Row("memory of halyard-worker before work", start[1], "MB", .atMost(20)),
    ]
    return rows + (try await measureIdleDaemon())
}

/// Measures the memory of a daemon whose worker has been let go.
private func measureIdleDaemon() async throws -> [Row] {
    let scratch = try Scratch()
    let daemon = try DaemonProcess(in: scratch.path)
    defer { daemon.stop() }
    while try daemon.hasWorkers { try await Task.sleep(for: .seconds(1)) }
    return [
        Row("resident memory of the idle daemon", try Program.residentMegabytes(daemon.pid), "MB", .atMost(26)),
        Row("its proportional memory", try Program.proportionalMegabytes(daemon.pid), "MB", .atMost(21)),
    ]
}

private struct NoOpCosts {
    /// Jobs per second.
    let rates: (worker: Double, here: Double)
    /// Microseconds of processor time per job.
    private let costs: (worker: Double, here: Double)

    var extraMicroseconds: Double { costs.worker - costs.here }

    /// - Parameter limit: How many jobs run at once.
    init(limit: Int) async throws {
        let workerScratch = try Scratch(in: "/dev/shm")
        let scratch = try Scratch(in: "/dev/shm")
        let definitions = "queues:\n  default: {limit: \(limit)}\ndefinitions:\n  noop: {kind: noop}\n"
        let worker = NoOpDaemon(
            try DaemonProcess(
                in: workerScratch.path, definitions: definitions,
                configuration: """
                    workers:
                      bench:
                        command: ["\(Program.own)"]
                        attempts: \(limit)
                        environment: {HALYARD_BENCH_ROLE: worker}

                    """))
        defer { worker.daemon.stop() }
        let here = NoOpDaemon(
            try DaemonProcess(
                Program.own, in: scratch.path, definitions: definitions,
                settings: BenchRole.daemon.environment))
        defer { here.daemon.stop() }
        let medians = try await medians(ofRounds: 5) {
            let (seconds, processor) = try await worker.run(jobs)
            let (secondsHere, processorHere) = try await here.run(jobs)
            return [seconds, processor, secondsHere, processorHere]
        }
        rates = (Double(jobs) / medians[0], Double(jobs) / medians[2])
        costs = (medians[1] * 1000 / Double(jobs), medians[3] * 1000 / Double(jobs))
    }
}

/// A daemon with the kind ``NoOp``, and the number of its jobs.
private final class NoOpDaemon {
    let daemon: DaemonProcess
    private let control: SocketControl
    private var finished = 0

    init(_ daemon: DaemonProcess) {
        self.daemon = daemon
        control = SocketControl(path: daemon.socket)
    }

    /// Enqueues jobs while their queue is paused, and then runs them.
    ///
    /// - Returns: The time that they took, and the processor time of the daemon and its workers in milliseconds.
    func run(_ count: Int) async throws -> (seconds: Double, milliseconds: Double) {
        _ = try await control.change(QueueChange(name: QueueSettings.defaultName, isPaused: true))
        let line = #"{"definition":"noop","input":\#(String(decoding: NoOp.input.bytes, as: UTF8.self))}"#
        try daemon.enqueue(Array(repeating: line, count: count))
        finished += count
        let before = try daemon.cpuMilliseconds()
        let start = ContinuousClock.now
        _ = try await control.change(QueueChange(name: QueueSettings.defaultName, isPaused: false))
        while try await control.status().counts[.succeeded] < Int64(finished) {
            try await Task.sleep(for: .milliseconds(10))
        }
        return (start.milliseconds / 1000, try daemon.cpuMilliseconds() - before)
    }
}

/// A worker that was started once, and has announced its kinds.
private struct StartedWorker {
    /// The time until it had announced its kinds.
    let milliseconds: Double
    /// Its resident memory then.
    let megabytes: Double

    init(_ program: String) throws {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.standardInput = input
        process.standardOutput = output
        var hello: [UInt8] = []
        DaemonMessage.hello(Hello(version: "bench", attempts: 256, settings: .emptyObject)).append(to: &hello)
        let start = ContinuousClock.now
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: hello)
        var answer = Data()
        while !answer.contains(UInt8(ascii: "\n")) {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { throw BenchError("\(program) ended without an answer") }
            answer += more
        }
        milliseconds = start.milliseconds
        megabytes = try Program.residentMegabytes(process.processIdentifier)
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
