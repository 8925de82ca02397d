import NIOCore
import NIOHTTP1
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Web

/// Lookups from a real name server on loopback.
@Suite struct ResolverTests {
    private final class ManualClock: Sendable {
        private let time = Mutex(NIODeadline.now())
        var now: NIODeadline { time.withLock(\.self) }
        func advance(by amount: TimeAmount) { time.withLock { $0 = $0 + amount } }
    }

    private let clock = ManualClock()

    private func with<T>(
        _ files: NamingFiles, maxLookups: Int = Resolver.maxLookups, _ body: (Resolver) async throws -> T
    ) async throws -> T {
        let resolver = Resolver(files.paths, maxLookups: maxLookups) { [clock] in clock.now }
        let result: Result<T, any Error>
        do { result = .success(try await body(resolver)) } catch { result = .failure(error) }
        await resolver.shutdown()
        return try result.get()
    }

    private func addresses(_ name: String, _ resolver: Resolver) async throws -> [String] {
        try await resolver.find(name).get().addresses.map(\.description)
    }

    private func expect(
        _ name: String, _ addresses: [String], from resolver: Resolver,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let found = (try? await resolver.find(name).get())?.addresses.map(\.description)
        #expect(found == addresses, sourceLocation: sourceLocation)
    }

    private func problem(_ name: String, _ resolver: Resolver) async -> LookupError? {
        switch await resolver.find(name) {
        case .success(let found):
            Issue.record("found \(found.addresses)")
            return nil
        case .failure(let problem): return problem
        }
    }

    @Test func bothFamiliesAreAskedAndIPv6ComesFirst() async throws {
        try await NameServer.with { question in
            .table(["192.0.2.1", "192.0.2.2", "2001:db8::1"], question)
        } _: { server in
            try await with(NamingFiles(port: server.port)) { resolver in
                await expect("both.example", ["2001:db8::1", "192.0.2.1", "192.0.2.2"], from: resolver)
                #expect(server.questions.count == 2)
            }
        }
    }

    /// A healthy name is not delayed by any number of names with silent servers: its request ends while all others are
    /// still waiting.
    @Test func silentServersDelayNoOtherName() async throws {
        let silent = 64
        try await LoopbackServer.with { _ in
            .text("<title>T</title>")
        } _: { web in
            try await NameServer.with { question in
                question.name.hasPrefix("silent") ? .silence : .table(["127.0.0.1"], question)
            } _: { server in
                let files = try NamingFiles(port: server.port)
                let client = OutgoingClient(loopbackConfiguration(), resolver: Resolver(files.paths))
                let ended = Counter()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let asked = server.asked(silent * 2)
                    for index in 0..<silent {
                        group.addTask {
                            // The request is cancelled below; its result does not matter.
                            _ = try? await get("http://silent\(index).example/", client)
                            _ = ended.next()
                        }
                    }
                    await asked.wait()
                    let response = try await get("http://healthy.example:\(web.port)/", client)
                    #expect(response.isSuccess)
                    #expect(ended.next() == 1, "a silent name ended before the healthy one")
                    group.cancelAll()
                }
                await client.shutdown()
            }
        }
    }

    @Test func lookupsBeyondTheLimitWaitAndThenRun() async throws {
        let free = Signal()
        try await NameServer.with { question in
            question.name == "last.example" ? .table(["192.0.2.9"], question) : .after(free, .none())
        } _: { server in
            try await with(NamingFiles(port: server.port), maxLookups: 4) { resolver in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let asked = server.asked(8)
                    for index in 0..<4 { group.addTask { _ = await resolver.find("slow\(index).example") } }
                    await asked.wait()
                    group.addTask {
                        let found = try await self.addresses("last.example", resolver)
                        #expect(found == ["192.0.2.9"])
                    }
                    free.open()
                    try await group.waitForAll()
                    #expect(server.names.last == "last.example")
                }
            }
        }
    }

    @Test func callersShareOneLookupAndItsAnswerIsCachedForItsTTL() async throws {
        try await NameServer.with { question in
            .table(["192.0.2.1"], question, ttl: 30)
        } _: { server in
            try await with(NamingFiles(port: server.port)) { resolver in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<50 { group.addTask { _ = try await self.addresses("kept.example", resolver) } }
                    try await group.waitForAll()
                }
                #expect(server.questions.count == 2)
                clock.advance(by: .seconds(29))
                _ = try await addresses("kept.example", resolver)
                #expect(server.questions.count == 2)
                clock.advance(by: .seconds(2))
                _ = try await addresses("kept.example", resolver)
                #expect(server.questions.count == 4)
            }
        }
    }

    @Test(
        arguments: [(0, 1, 4), (20, 19, 2), (20, 21, 4), (1_000_000, 299, 2), (1_000_000, 301, 4)]
            as [(UInt32, Int, Int)])
    func absenceIsKeptForTheTimeThatTheServerGives(ttl: UInt32, seconds: Int, questions: Int) async throws {
        try await NameServer.with { _ in
            .noSuchName(ttl: ttl)
        } _: { server in
            try await with(NamingFiles(port: server.port)) { resolver in
                #expect(await problem("absent.example", resolver) == .noSuchName)
                clock.advance(by: .seconds(Int64(seconds)))
                #expect(await problem("absent.example", resolver) == .noSuchName)
                #expect(server.questions.count == questions)
            }
        }
    }

    @Test func answerOfOneFamilyIsUsedWhileTheOtherIsMissing() async throws {
        let late = Signal()
        try await NameServer.with { question in
            let reply = NameServer.Reply.table(["192.0.2.1", "2001:db8::1"], question)
            return question.family == .v6 ? .after(late, reply) : reply
        } _: { server in
            try await with(NamingFiles(port: server.port)) { resolver in
                let found = try await resolver.find("late.example").get()
                #expect(found.addresses.map(\.description) == ["192.0.2.1"])
                let rest = try #require(found.rest)
                late.open()
                let all = await rest()
                #expect(all.map(\.description) == ["2001:db8::1", "192.0.2.1"])
            }
        }
    }

    @Test func truncatedAnswerIsRepeatedOverTCP() async throws {
        let all = (0..<1000).map { "198.51.\($0 / 250).\($0 % 250)" }
        try await NameServer.with { question in
            question.isTCP ? .table(all, question) : .truncated
        } _: { server in
            try await with(NamingFiles(port: server.port)) { resolver in
                let found = try await addresses("many.example", resolver)
                #expect(found == Array(all.prefix(DNSMessage.maxAddresses)))
                #expect(server.questions.count { $0.isTCP } == 2)
            }
        }
    }

    @Test func answerToAnotherQueryIsIgnored() async throws {
        try await NameServer.with { question in
            .several([.withWrongID(.addresses(["192.0.2.66"])), .table(["192.0.2.1"], question)])
        } _: { server in
            try await with(NamingFiles(port: server.port)) { resolver in
                await expect("spoofed.example", ["192.0.2.1"], from: resolver)
            }
        }
    }

    @Test(arguments: [NameServer.Reply.status(2), .status(5), .raw([1, 2, 3]), .silence])
    func serverThatFailsIsATemporaryProblemAndNotKept(reply: NameServer.Reply) async throws {
        let isHealthy = Mutex(false)
        try await NameServer.with { question in
            isHealthy.withLock(\.self) ? .table(["192.0.2.1"], question) : reply
        } _: { server in
            let files = try NamingFiles(
                port: server.port, resolver: "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
            try await with(files) { resolver in
                #expect(await problem("broken.example", resolver) == .temporary)
                isHealthy.withLock { $0 = true }
                await expect("broken.example", ["192.0.2.1"], from: resolver)
            }
        }
    }

    @Test func filesComeFirstAndLocalNamesAreNeverSent() async throws {
        try await NameServer.with { question in
            .table(["192.0.2.1"], question)
        } _: { server in
            let files = try NamingFiles(
                port: server.port, hosts: "# mine\n10.1.2.3\tNAS.example nas # attic\nfd00::3 nas\nnonsense x\n")
            try await with(files) { resolver in
                await expect("nas.example", ["10.1.2.3"], from: resolver)
                await expect("nas", ["10.1.2.3", "fd00::3"], from: resolver)
                for name in ["localhost", "a.localhost"] {
                    await expect(name, ["::1", "127.0.0.1"], from: resolver)
                }
                #expect(server.questions.isEmpty)
                await expect("other.example", ["192.0.2.1"], from: resolver)
            }
        }
    }

    @Test(arguments: [("files", 0), ("dns files", 2), ("mdns4_minimal [NOTFOUND=return] files resolve", 0)])
    func orderOfSourcesIsThatOfTheSwitchFile(sources: String, questions: Int) async throws {
        try await NameServer.with { question in
            .table(["192.0.2.1"], question)
        } _: { server in
            let files = try NamingFiles(
                port: server.port, hosts: "10.1.2.3 nas\n", sources: "passwd: files\nhosts: \(sources)\n")
            try await with(files) { resolver in
                await expect("nas", [questions == 0 ? "10.1.2.3" : "192.0.2.1"], from: resolver)
                #expect(server.questions.count == questions)
                if sources == "files" { #expect(await problem("other", resolver) == .noSuchName) }
            }
        }
    }

    @Test func shortNamesAreLookedUpInTheSearchDomains() async throws {
        try await NameServer.with { question in
            question.name == "nas.two.example" ? .table(["192.0.2.1"], question) : .noSuchName()
        } _: { server in
            let files = try NamingFiles(
                port: server.port, resolver: "nameserver 127.0.0.1\nsearch one.example two.example\noptions ndots:2\n")
            try await with(files) { resolver in
                await expect("nas", ["192.0.2.1"], from: resolver)
                #expect(server.names == ["nas.one.example", "nas.two.example"])
                #expect(await problem("a.b.c", resolver) == .noSuchName)
                #expect(server.names.suffix(3) == ["a.b.c", "a.b.c.one.example", "a.b.c.two.example"])
            }
        }
    }

    @Test func changedFilesAreReadAgainAndClearTheCache() async throws {
        try await NameServer.with { question in
            .table(["192.0.2.1"], question)
        } _: { first in
            try await NameServer.with(host: "127.0.0.2", port: first.port) { question in
                .table(["192.0.2.2"], question)
            } _: { second in
                let files = try NamingFiles(port: first.port)
                try await with(files) { resolver in
                    await expect("moved.example", ["192.0.2.1"], from: resolver)
                    try files.write("nameserver 127.0.0.2\n", to: files.paths.resolver)
                    clock.advance(by: .seconds(1))
                    await expect("moved.example", ["192.0.2.2"], from: resolver)
                    try files.write("192.0.2.3 moved.example\n", to: files.paths.hosts)
                    clock.advance(by: .seconds(1))
                    await expect("moved.example", ["192.0.2.3"], from: resolver)
                    #expect(second.questions.count == 2)
                }
            }
        }
    }

    @Test func shutdownAndCancellationEndWaitingLookups() async throws {
        try await NameServer.with { _ in
            .silence
        } _: { server in
            let resolver = Resolver(try NamingFiles(port: server.port).paths)
            let asked = server.asked(4)
            let cancelled = Task { await resolver.find("one.example") }
            let ended = Task { await resolver.find("two.example") }
            await asked.wait()
            cancelled.cancel()
            #expect(await cancelled.value.isFailure)
            await resolver.shutdown()
            #expect(await ended.value.isFailure)
            #expect(await resolver.find("three.example").isFailure)
        }
    }

    @Test func nameThatDoesNotFitIntoAQueryDoesNotExist() async throws {
        try await NameServer.with { _ in
            .silence
        } _: { server in
            try await with(NamingFiles(port: server.port)) { resolver in
                for name in [
                    String(repeating: "a", count: 64) + ".example", "a..b", String(repeating: "a.", count: 140) + "b",
                ] {
                    #expect(await problem(name, resolver) == .noSuchName)
                }
                #expect(server.questions.isEmpty)
            }
        }
    }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
