import Foundation
import Servers
import Testing

/// A short form of `scripts/fuzz exchange`, which sets `HALYARD_FUZZ_SECONDS` and optionally `HALYARD_FUZZ_SEED`.
@Suite(.serialized) struct ExchangeFuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["HALYARD_FUZZ_SECONDS"].flatMap { Int($0) }
    /// A fixed seed and a random one; a failure prints the seed.
    private static let seeds: [UInt64] =
        environment["HALYARD_FUZZ_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, .random(in: 2...UInt64.max)]

    @Test(.timeLimit(.minutes(seconds.map { $0 / 60 + 5 } ?? 3)), arguments: seeds)
    func hostileServerEndsNoProcess(seed: UInt64) async throws {
        print("exchange fuzz: seed \(seed)")
        try await TestAuthority.with { authority in
            let tls = try await authority.issue("server", host: "DNS:localhost").server()
            guard let seconds = Self.seconds else {
                let fuzz = ExchangeFuzz(seed: seed, tls: (tls, authority.root.certificate))
                let codes = try await fuzz.run { $0 > 150 }
                #expect(codes.values.reduce(0, +) == 450, "seed \(seed)")
                // Some answers must be good, and there must be many kinds of failures; otherwise the server was just
                // unreachable.
                #expect(codes[""] != nil && codes.count > 5, "seed \(seed): \(codes)")
                return
            }
            let end = ContinuousClock.now + .seconds(seconds / Self.seeds.count)
            var round = seed
            while ContinuousClock.now < end {
                let fuzz = ExchangeFuzz(seed: round, tls: (tls, authority.root.certificate))
                print("seed \(round): \(try await fuzz.run { $0 > 2000 || ContinuousClock.now > end })")
                round &+= 1
            }
        }
    }
}
