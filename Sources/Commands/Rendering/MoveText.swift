import ControlProtocol
import Jobs
import Stores

/// Renders the result of a move.
struct MoveText {
    private let report: MoveReport
    private let source: DatabaseAddress
    private let target: DatabaseAddress
    private let database: String
    private let home: String
    private let isDryRun: Bool
    private let seconds: Double

    init(
        _ report: MoveReport, _ move: DatabaseMove, from source: DatabaseAddress, to target: DatabaseAddress,
        isDryRun: Bool, seconds: Double
    ) {
        self.report = report
        self.source = source
        self.target = target
        database = move.configuredTarget
        home = move.home
        self.isDryRun = isDryRun
        self.seconds = seconds
    }

    /// The lines to change in the configuration.
    private var settings: [String] {
        var lines = ["database: \"\(database)\""]
        if target.path == nil, home != StandardPaths.homeForServer { lines.append("home: \"\(home)\"") }
        return lines
    }

    var json: JSONText {
        JSONWriter.text {
            $0.object { object in
                object.field("from", source.description)
                object.field("to", target.description)
                object.field("dry_run", isDryRun)
                object.field("continued", report.isContinued)
                object.field("seconds", Int64(seconds.rounded()))
                object.field("jobs") { counts in
                    counts.object { object in
                        for state in JobState.allCases {
                            object.field(state.name) { $0.value(Array(String(report.counts[state]).utf8)) }
                        }
                    }
                }
                object.field("digests", report.tables) { table, writer in
                    writer.object { object in
                        object.field("name", table.name)
                        object.field("rows", Int64(table.rows))
                        object.field("sha256", table.sha256)
                    }
                }
                object.field("configuration", settings) { $1.string($0) }
            }
        }
    }

    func print(on output: Output) throws {
        if report.isContinued {
            try output.line("The move from \(source.description) to \(target.description) is complete.")
        } else {
            let jobs = AmountText.count(report.counts.total, "job")
            let states = JobState.allCases.filter { report.counts[$0] > 0 }.map {
                "\(AmountText.grouped(report.counts[$0])) \($0.name)"
            }
            let verb = isDryRun ? "Would move" : "Moved"
            let list = states.isEmpty ? "" : ": \(states.joined(separator: ", "))"
            try output.line("\(verb) \(jobs) from \(source.description) to \(target.description)\(list)")
            for table in report.tables where !Self.plumbing.contains(table.name) && table.rows > 0 {
                try output.line("  \(AmountText.grouped(Int64(table.rows))) \(table.name)")
            }
        }
        if isDryRun { return }
        if !report.isContinued {
            try output.line(
                "Both databases were read again and are equal (SHA-256 of each kind of row; see --json). It took \(TimeText.duration(.seconds(seconds)))."
            )
        }
        try output.line("")
        try output.line("Now change the configuration (\(StandardPaths.configuration)), then start the daemon:")
        for line in settings { try output.line("  \(line)") }
    }

    /// Kinds of rows that the list omits: internal ones, and jobs, which the first line already counts.
    private static let plumbing: Set<String> = ["numbers", "counts", "kinds", "jobs"]
}
