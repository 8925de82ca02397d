import ArgumentParser
import Testing

@testable import Commands

@Suite struct DirectVerbTests {
    /// A missing entry only makes a call slower, but a wrong entry is a bug.
    @Test func everyVerbIsParsedAsByTheFullParser() throws {
        for verb in Halyard.configuration.subcommands {
            let name = try #require(verb.configuration.commandName)
            let direct = DirectVerb.verb(named: name)
            if verb.configuration.subcommands.isEmpty {
                #expect(direct.map { ObjectIdentifier($0) } == ObjectIdentifier(verb), "\(name)")
            } else {
                #expect(direct == nil, "\(name)")
            }
        }
    }

    @Test(arguments: [
        ["enqueue", "unfurl", "https://example.com/", "--in", "5m", "--after", "41:finished", "--json"],
        ["enqueue", "--lines", "-"], ["list", "--state", "ready", "--limit", "7"], ["show", "41"],
        ["cancel", "41", "42"], ["wait", "graph:7"], ["status"], ["prune", "--older-than", "30d"],
    ])
    func correctCallIsParsedAlike(arguments: [String]) throws {
        let direct = try #require(DirectVerb.parse(arguments))
        let whole = try Halyard.parseAsRoot(arguments)
        #expect(String(describing: direct) == String(describing: whole))
    }

    @Test(arguments: [
        [], ["--help"], ["enqueue", "--help"], ["enqueue"], ["enqueue", "--sate"], ["help", "enqueue"], ["queues"],
        ["definitions", "list"], ["enqeue", "unfurl"], ["--version"], ["show"], ["show", "x"],
    ])
    func everythingElseIsLeftToTheWholeParser(arguments: [String]) {
        #expect(DirectVerb.parse(arguments) == nil)
    }

    /// ArgumentParser first looks in each verb for the options of a whole program if the verb names no parent command.
    @Test func noDirectVerbIsTakenForAProgram() throws {
        for verb in Halyard.configuration.subcommands {
            let name = try #require(verb.configuration.commandName)
            guard let direct = DirectVerb.verb(named: name) else { continue }
            #expect(direct.configuration._superCommandName == "halyard", "\(name)")
        }
    }
}
