import Foundation
import Kinds

/// `halyard-bench [engine|callers|operations|kinds|upload|unfurl|enrich]`
///
/// Exit status 1: a limit was missed; 64: the argument is unknown; 70: a measurement failed.
@main
struct Main {
    static func main() async {
        DocumentSandbox.runIfAsked()
        do {
            try await measure()
        } catch {
            FileHandle.standardError.write(Data("halyard-bench: \(error)\n".utf8))
            exit(70)
        }
    }

    private static func measure() async throws {
        var report = Report()
        switch CommandLine.arguments.dropFirst().first ?? "engine" {
        case "engine":
            for row in try await measureLifeOfAJob() { report.add(row) }
            for row in try await measureStartLatency() { report.add(row) }
            report.add(try await measureGraphOfAThousand())
            report.add(try await measureFlatClaims())
            for row in try measureProcesses() { report.add(row) }
            for row in try measureLoneEnqueue() { report.add(row) }
            report.add(try await measureLines())
        case "callers":
            for row in try measureCallers() { report.add(row) }
        case "operations":
            for row in await measureOperations() { report.add(row) }
        case "kinds":
            for part in KindsBench.allCases { for row in try await part.measure() { report.add(row) } }
        case let word:
            guard let part = KindsBench(rawValue: word) else {
                let known = "engine, callers, operations, kinds, upload, unfurl, enrich"
                FileHandle.standardError.write(
                    Data("halyard-bench: no bench \"\(word)\"; there are: \(known)\n".utf8))
                exit(64)
            }
            for row in try await part.measure() { report.add(row) }
        }
        try report.print()
        exit(report.rows.allSatisfy(\.holds) ? 0 : 1)
    }
}
