import Daemon
import Foundation
import Worker

/// A program that a bench starts, as which this one runs.
enum BenchRole: String {
    /// A worker with the kind ``NoOp``. If `HALYARD_BENCH_STARTS` names a file, it appends a line for each start: the job
    /// and the machine's monotonic time in nanoseconds.
    case worker
    /// A daemon with the kind ``NoOp`` in its own process.
    case daemon

    private static let variable = "HALYARD_BENCH_ROLE"

    /// The role that the environment asks for; nil for a bench.
    static var current: BenchRole? {
        ProcessInfo.processInfo.environment[variable].flatMap { BenchRole(rawValue: $0) }
    }

    /// The environment that asks for this role.
    var environment: [String: String] { [Self.variable: rawValue] }

    /// Runs the program.
    @MainActor func run() async -> Never {
        switch self {
        case .worker:
            guard let path = ProcessInfo.processInfo.environment["HALYARD_BENCH_STARTS"] else {
                await WorkerCommand.run([NoOp()])
            }
            let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            await WorkerCommand.run([
                NoOp { job, _ in
                    let line = "\(job) \(monotonicNanoseconds())\n"
                    _ = line.utf8.withContiguousStorageIfAvailable { write(file, $0.baseAddress, $0.count) }
                }
            ])
        case .daemon:
            unsetenv(Self.variable)
            await DaemonCommand.start(with: [NoOp()])
        }
    }
}

private func monotonicNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
