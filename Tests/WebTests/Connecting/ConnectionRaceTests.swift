import Jobs
import NIOCore
import NIOHTTP1
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Web

/// Happy Eyeballs: the order of connection attempts, and the addresses remembered as dead.
@Suite struct ConnectionRaceTests {
    private func addresses(_ texts: String...) -> [IPAddress] { texts.compactMap { IPAddress($0) } }

    @Test func familiesTakeTurnsAndTheDeadComeLast() {
        let all = addresses("2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1", "192.0.2.2")
        let dead = Set(addresses("2001:db8::1"))
        #expect(
            ConnectionRace.order(all, isDead: { _ in false })
                == addresses("2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"))
        #expect(
            ConnectionRace.order(all, isDead: dead.contains)
                == addresses("2001:db8::2", "192.0.2.1", "2001:db8::3", "192.0.2.2", "2001:db8::1"))
        #expect(ConnectionRace.order([], isDead: { _ in false }).isEmpty)
    }

    @Test func raceIsLostWhenEachAddressHasFailedOnce() {
        let all = addresses("192.0.2.1", "192.0.2.2")
        var race = ConnectionRace(all)
        #expect(race.next() == all[0] && !race.isLost)
        #expect(race.next() == all[1] && race.next() == nil)
        #expect(race.pending == all)
        race.failed(all[0])
        #expect(!race.isLost)
        race.failed(all[1])
        #expect(race.isLost)
    }

    @Test func manyAddressesAreNotAllTried() {
        var race = ConnectionRace((0..<1000).map { .v4(0xC000_0200 + $0) })
        var count = 0
        while race.next() != nil { count += 1 }
        #expect(count == ConnectionRace.maxAttempts)
    }

    @Test func deadAddressIsForgottenInTimeAndWhenItAnswers() {
        let time = Mutex(NIODeadline.now())
        let dead = DeadAddresses { time.withLock(\.self) }
        let place = DeadAddresses.Endpoint(address: .v4(1), port: 80)
        dead.note(place)
        #expect(dead.contains(place) && !dead.contains(.init(address: .v4(1), port: 81)))
        dead.forget(place)
        #expect(!dead.contains(place))
        dead.note(place)
        time.withLock { $0 = $0 + DeadAddresses.rest }
        #expect(!dead.contains(place))
        for number in 0..<UInt32(3 * DeadAddresses.capacity) { dead.note(.init(address: .v4(number), port: 80)) }
        let known = (0..<UInt32(3 * DeadAddresses.capacity)).filter { dead.contains(.init(address: .v4($0), port: 80)) }
        #expect(known.count == DeadAddresses.capacity)
    }
}

/// Servers with addresses that never respond.
@Suite struct DeadAddressTests {
    private func withNames<T>(
        _ addresses: [String], _ body: (OutgoingClient) async throws -> T
    ) async throws -> T {
        var configuration = loopbackConfiguration()
        configuration.policy.allow.append(AllowRule("127.0.0.0/8")!)
        let client = OutgoingClient(configuration) { _ in .success(addresses.compactMap { IPAddress($0) }) }
        let result: Result<T, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await client.shutdown()
        return try result.get()
    }

    /// The client reaches the working address long before the connection timeout despite one or two silent ones, and
    /// the next connection does not try the silent ones first.
    @Test(arguments: [1, 2]) func silentAddressesCostAQuarterOfASecondEachAndOnlyOnce(count: Int) async throws {
        try await LoopbackServer.with { _ in
            .text("<title>T</title>")
        } _: { server in
            let silent = try (0..<count).map { try Blackhole("127.0.0.\($0 + 2)", port: UInt16(server.port)) }
            try await withNames(silent.map(\.address) + ["127.0.0.1"]) { client in
                let clock = ContinuousClock()
                let first = try await clock.measure {
                    let response = try await get("http://half.example:\(server.port)/", client)
                    #expect(response.isSuccess && "\(response.address)" == "127.0.0.1")
                }
                #expect(first >= .milliseconds(250 * count) && first < client.configuration.limits.connect)
                // Each request uses another name, so that it opens a connection.
                let log = ConnectionLog { Timestamp(milliseconds: 0) }
                try await ConnectionLog.$current.withValue(log) {
                    _ = try await get("http://other.example:\(server.port)/", client)
                }
                #expect(log.records.map(\.address) == ["127.0.0.1:\(server.port)"])
            }
        }
    }

    @Test func recordNamesTheFailedAddressesAndTheOneThatAnswered() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            let silent = try Blackhole("127.0.0.2", port: UInt16(server.port))
            try await withNames(["::1", silent.address, "127.0.0.1"]) { client in
                let log = ConnectionLog { Timestamp(milliseconds: 0) }
                try await ConnectionLog.$current.withValue(log) {
                    let response = try await get("http://three.example:\(server.port)/", client)
                    #expect(response.address == .v4(0x7F00_0001))
                }
                #expect(
                    log.records.map(\.address) == ["[::1]", silent.address, "127.0.0.1"].map { "\($0):\(server.port)" })
                #expect(log.records.map(\.error) == ["connect_failed", "connect_failed", nil])
                #expect(log.records.map(\.status) == [nil, nil, 200])
            }
        }
    }

    /// Losing connections are closed without sending any data.
    @Test func onlyTheWinnerIsUsed() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withNames(["127.0.0.1", "127.0.0.1"]) { client in
                _ = try await get("http://one.example:\(server.port)/", client)
                #expect(server.connections == 1)
            }
        }
    }

    @Test func cancellationEndsARaceAtOnce() async throws {
        let silent = try Blackhole("127.0.0.2", port: 0)
        try await withNames([silent.address]) { client in
            let url = "http://silent.example:\(silent.port)/"
            let waiting = Task { await Result.of { () async throws(KindFailure) in try await get(url, client) } }
            waiting.cancel()
            guard case .failure(let failure) = await waiting.value else {
                Issue.record("a silent address answered")
                return
            }
            #expect(failure.reason == .cancelled)
        }
    }

    /// An address that arrives late is tried after all others have failed.
    @Test func addressThatTheNameServerGaveLateIsTriedInTheEnd() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            let late = Signal()
            try await NameServer.with { question in
                question.family == .v6 ? .addresses(["::1"]) : .after(late, .addresses(["127.0.0.1"]))
            } _: { names in
                let files = try NamingFiles(port: names.port)
                let client = OutgoingClient(loopbackConfiguration(), resolver: Resolver(files.paths))
                let url = "http://late.example:\(server.port)/"
                async let answer = Result.of { () async throws(KindFailure) in try await get(url, client) }
                await names.asked(2).wait()
                late.open()
                guard case .success(let response) = await answer else {
                    Issue.record("no answer")
                    return await client.shutdown()
                }
                #expect(response.address == .v4(0x7F00_0001))
                await client.shutdown()
            }
        }
    }
}

extension Result where Failure == KindFailure {
    fileprivate static func of(_ work: () async throws(KindFailure) -> Success) async -> Result {
        do throws(KindFailure) { return .success(try await work()) } catch { return .failure(error) }
    }
}
