import ArgumentParser

/// One verb of the command line: it parses, calls a `JobControl`, and renders.
protocol Verb: ParsableCommand {
    var common: CommonOptions { get }

    func run(in surroundings: Surroundings) async throws -> ExitCode
}
