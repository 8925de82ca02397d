import Daemon
import Foundation
import Worker

/// A program that a bench starts, as which this one runs.
enum BenchRole: String {
    /// A worker with the kind ``NoOp``.
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
        case .worker: await WorkerCommand.run([NoOp()])
        case .daemon:
            unsetenv(Self.variable)
            await DaemonCommand.start(with: [NoOp()])
        }
    }
}
