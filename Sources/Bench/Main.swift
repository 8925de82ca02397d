import Foundation
import Kinds

/// `halyard-bench [engine|callers|workers|operations|kinds|upload|unfurl|enrich]`
///
/// Exit status 1: a limit was missed; 64: the argument is unknown; 70: a measurement failed.
@main
struct Main {
    @MainActor static func main() async {
        DocumentSandbox.runIfAsked()
        await BenchRole.current?.run()
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
            report.add(try await measureLifeOfAJob())
            report.add(try await measureStartLatency())
            report.add([try await measureGraphOfAThousand()])
            report.add([try await measureFlatClaims()])
            report.add(try await measureProcesses())
            report.add(try measureLoneEnqueue())
            report.add([try await measureLines()])
        case "callers": report.add(try measureCallers())
        case "workers": report.add(try await measureWorkers())
        case "operations": report.add(await measureOperations())
        case "kinds": for part in KindsBench.allCases { report.add(try await part.measure()) }
        case let word:
            guard let part = KindsBench(rawValue: word) else {
                let known = "engine, callers, workers, operations, kinds, upload, unfurl, enrich"
                FileHandle.standardError.write(
                    Data("halyard-bench: no bench \"\(word)\"; there are: \(known)\n".utf8))
                exit(64)
            }
            report.add(try await part.measure())
        }
        try report.print()
        exit(report.rows.allSatisfy(\.holds) ? 0 : 1)
    }
}
