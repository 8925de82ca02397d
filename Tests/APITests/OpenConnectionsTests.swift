import NIOCore
import NIOEmbedded
import Testing

@testable import API

@Suite struct OpenConnectionsTests {
    private let root: UInt32 = 0

    /// Admits a connection, or returns nil if it is refused.
    private func connect(_ connections: OpenConnections, _ user: UInt32, isBusy: Bool) throws -> EmbeddedChannel? {
        let channel = EmbeddedChannel()
        connections.add(channel)
        guard connections.admit(channel, for: user) else { return nil }
        if isBusy { connections.beginRequest(channel) }
        return channel
    }

    private func isClosed(_ channel: EmbeddedChannel) -> Bool {
        channel.embeddedEventLoop.run()
        // Writing to a closed channel fails.
        return (try? channel.writeOutbound(1)) == nil
    }

    /// Users 1 to 4 fill their shares with long requests; the rest is reserved for other users and the last connections
    /// for root.
    @Test func lastConnectionsAreReservedForOthersAndForRoot() throws {
        let connections = OpenConnections(limits: ServerLimits(connections: 512), unlimitedUsers: [0])
        var held: [EmbeddedChannel] = []
        var counts: [UInt32: Int] = [:]
        for user in [UInt32(1), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] {
            while let channel = try connect(connections, user, isBusy: true) {
                held.append(channel)
                counts[user, default: 0] += 1
            }
        }
        #expect(counts[1] == 128 && counts[2] == 128 && counts[3] == 128)
        #expect(counts[4] == 16 && counts[9] == 16)
        #expect(held.count == 496)
        while let channel = try connect(connections, root, isBusy: true) { held.append(channel) }
        #expect(held.count == 512)
    }

    @Test func evenRootLeavesAnEighth() throws {
        let connections = OpenConnections(limits: ServerLimits(connections: 512), unlimitedUsers: [0])
        var held: [EmbeddedChannel] = []
        while let channel = try connect(connections, root, isBusy: true) { held.append(channel) }
        #expect(held.count == 448)
        #expect(try connect(connections, 1000, isBusy: true) != nil)
    }

    @Test func connectionThatHasBeenIdleLongestIsReplaced() throws {
        let connections = OpenConnections(
            limits: ServerLimits(connections: 64, connectionsPerUser: 2), unlimitedUsers: [])
        let first = try #require(try connect(connections, 1, isBusy: true))
        let second = try #require(try connect(connections, 1, isBusy: false))
        connections.endRequest(first)
        let third = try #require(try connect(connections, 1, isBusy: true))
        #expect(isClosed(second))
        let fourth = try #require(try connect(connections, 1, isBusy: true))
        #expect(isClosed(first))
        #expect(try connect(connections, 1, isBusy: true) == nil)
        withExtendedLifetime((third, fourth)) {}
    }

    /// A new connection of a user with few replaces one of the user with the most.
    @Test func connectionOfTheUserWithTheMostIsReplaced() throws {
        let connections = OpenConnections(
            limits: ServerLimits(connections: 64, connectionsPerUser: 60), unlimitedUsers: [])
        var many: [EmbeddedChannel] = []
        while many.count < 48 { many.append(try #require(try connect(connections, 1, isBusy: false))) }
        var others: [EmbeddedChannel] = []
        for user in UInt32(2)..<30 {
            others.append(try #require(try connect(connections, user, isBusy: false)))
        }
        #expect(others.allSatisfy { !isClosed($0) })
        #expect(many.count { isClosed($0) } == 14)
    }

    @Test func refusedConnectionsAreFew() throws {
        let connections = OpenConnections(
            limits: ServerLimits(connections: 64, connectionsPerUser: 1), unlimitedUsers: [])
        let busy = try #require(try connect(connections, 1, isBusy: true))
        var refused: [EmbeddedChannel] = []
        for _ in 0..<100 {
            let channel = EmbeddedChannel()
            connections.add(channel)
            #expect(!connections.admit(channel, for: 1))
            refused.append(channel)
        }
        #expect(refused.count { !isClosed($0) } == 8)
        withExtendedLifetime(busy) {}
    }
}
