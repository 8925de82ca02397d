import ArgumentParser
import Testing

@testable import Commands

/// Users rely on the options and exit codes.
@Suite struct HelpTests {
    @Test func everyVerbHasItsHelp() throws {
        var text = Halyard.helpMessage(columns: 100) + "\n"
        func add(_ command: any ParsableCommand.Type) {
            text += "\n==== \(command._commandName)\n" + Halyard.helpMessage(for: command, columns: 100) + "\n"
            for part in command.configuration.subcommands { add(part) }
        }
        for command in Halyard.configuration.subcommands { add(command) }
        try Golden.expect(text, "help.txt")
        // The manual is made from it, and troff reads no UTF-8.
        #expect(text.unicodeScalars.allSatisfy { $0.isASCII })
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsComeFromTheParser(shell: String) async {
        let capture = Capture()
        let code = await HalyardCommandLine.run(
            ["--generate-completion-script", shell], in: .captured(output: capture, errors: Capture()))
        #expect(code == .success)
        #expect(capture.text.contains("enqueue"))
    }

    @Test func theExitCodesAreThese() throws { try Golden.expect(ExitCode.table + "\n", "exit-codes.txt") }

    @Test(arguments: [
        ["enqeue"], ["frobnicate"], ["list", "--stat", "ready"], ["list", "--state", "redy"],
        ["list", "--open", "--state", "ready"],
        ["show", "x"], ["enqueue"], ["enqueue", "a", "--at", "tomorrow"],
        ["enqueue", "a", "--at", "18:00", "--in", "5m"],
        ["enqueue", "--lines", "-", "--wait"], ["enqueue", "--lines", "-", "--copy"], ["prune"],
        ["queues", "set", "a"],
        ["queues", "set", "a", "--limit", "0"],
        ["list", "--limit", "0"], ["wait"], ["queues", "pouse", "x"], ["help", "wiat"], ["queues", "help", "pouse"],
        ["show", "\u{1B}[2J"], ["enqueue", "a", "--at", "25:00"], ["enqueue", "a", "--in", "5x"],
        ["upload", "a", "--to", "https://h/{pth}"], ["upload", "a", "--to", "https://{path}.example.org/a"],
        ["upload", "a", "--to", "https://h/{path"], ["queues", "set", "a", "--weight", "1001"],
        ["queues", "set", "a", "--limit-per-daemon", "0"], ["queues", "set", "a", "--limit-per-daemon", "few"],
        ["enqueue", "a", "--after", "41:done"], ["queues", "set", "network", "--limt", "3"],
        ["prune", "--older-thn", "30d"], ["wait", "1", "--timout", "5s"], ["queues", "--jsn"], ["list", "-limit", "3"],
        ["show", "5", "-x"], ["prune", "-y", "--outcome", "failed", "--socket=/s", "--database", "-"],
        ["result", "graph:3"], ["enqueue", "a", "--after", "graph:3"], ["why", "x"],
        ["upload", "a", "--to", "https://h/", "--set", "file=b"],
        ["upload", "a", "--to", "https://h/", "--set", "to=https://g/"],
        // A misspelled word that contains an h is not a request for help.
        ["enqueue", "upload", "-photo.jpg"], ["upload", "-photo.jpg", "--to", "https://h/"],
        ["enqueue", "upload", "--input", "-photo.jpg"], ["enqueue", "upload", "-foto.jpg"],
        ["definitions", "apply", "-h.yaml"], ["list", "-ha"], ["show", "-5h"], ["queues", "-hs"], ["prune", "-yh"],
        ["-photo"],
        ["show", "abc"], ["cancel", "abc"], ["wait", "graph:abc"], ["watch", "abc"], ["graph", "abc"],
        ["list", "--graph", "abc"], ["list", "--limit", "abc"], ["enqueue", "a", "--priority", "hgih"],
        ["queues", "set", "", "--limit", "3"], ["queues", "pause", ""], ["definitions", "show", ""],
        ["schedules", "run", ""], ["enqueue", ""], ["list", "--queue", ""],
        ["enqueue", "--lines", "-", "--key", "k"],
        ["workers", "test"], ["workers", "test", "--input", "x", "--", "worker"], ["enqueue", "a", "-1"],
        ["workers", "test", "--socket", "/s", "--", "worker"],
    ])
    func aWrongLineIsAUsageErrorWithItsRemedy(arguments: [String]) async throws {
        let output = Capture()
        let errors = Capture()
        let code = await HalyardCommandLine.run(arguments, in: .captured(output: output, errors: errors))
        #expect(code == .usage)
        #expect(output.text.isEmpty)
        let name = arguments.joined(separator: "-").filter { $0.isASCII && ($0.isLetter || $0 == "-") }
        try Golden.expect(errors.text, "usage/\(name).txt")
    }

    @Test(arguments: [
        ["list", "-h"], ["list", "--help"], ["list", "-help"], ["help", "list"], ["list", "--bogus", "-h"], ["--help"],
        [],
    ])
    func helpThatIsAskedForIsData(arguments: [String]) async {
        let output = Capture()
        let code = await HalyardCommandLine.run(arguments, in: .captured(output: output, errors: Capture()))
        #expect(code == .success)
        #expect(output.text.hasPrefix("OVERVIEW: "))
    }

    /// A name beyond the length limit is refused before anything is sent, and the message shortens it.
    @Test(arguments: [
        ["enqueue"], ["enqueue", "unfurl", "--queue"], ["show"], ["queues", "pause"],
        ["queues", "set", "--limit", "2"],
        ["queues", "set", "--create"], ["queues", "remove"], ["definitions", "show"], ["definitions", "remove"],
        ["schedules", "show"], ["schedules", "pause"], ["schedules", "run"], ["schedules", "remove"],
        ["list", "--queue"], ["list", "--kind"], ["list", "--definition"], ["list", "--graph"], ["result"], ["graph"],
        ["prune", "--older-than"], ["enqueue", "unfurl", "--at"],
    ])
    func aVeryLongNameIsAUsageError(arguments: [String]) async {
        let errors = Capture()
        let name = String(repeating: "a", count: 100_000)
        let code = await HalyardCommandLine.run(
            arguments + [name], in: .captured(output: Capture(), errors: errors))
        #expect(code == .usage)
        #expect(errors.text.utf8.count < 2000)
    }

    @Test func theVersionIsData() async {
        let output = Capture()
        let code = await HalyardCommandLine.run(["--version"], in: .captured(output: output, errors: Capture()))
        #expect(code == .success)
        #expect(output.text == "0.1.0\n")
    }
}
