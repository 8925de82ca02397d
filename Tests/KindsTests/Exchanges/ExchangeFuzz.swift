import NIOSSL
import OperationTypes
import Synchronization
import Web

@testable import Kinds

/// Runs the kinds against a hostile server through the real client: whatever the server sends, each run ends in time
/// with an output or a failure, and the process survives.
struct ExchangeFuzz: Sendable {
    enum Route: CaseIterable, Sendable {
        case plain, tls, proxied
    }

    struct Stuck: Error, CustomStringConvertible {
        let number: Int
        let seed: UInt64
        var description: String { "exchange \(number) of seed \(seed) did not end within a minute" }
    }

    let seed: UInt64
    /// The TLS setup; nil for no TLS.
    var tls: (server: NIOSSLContext, authority: String)?
    /// Number of concurrent exchanges.
    var width = 8

    /// Runs exchanges until `isOver` returns true for their number.
    ///
    /// - Returns: How often each code occurred; `""` means success.
    func run(until isOver: @escaping @Sendable (Int) -> Bool) async throws -> [String: Int] {
        let tally = Tally()
        for route in Route.allCases where route != .tls || tls != nil {
            let server = try await HostileServer.start(seed: seed, tls: route == .tls ? tls?.server : nil)
            let client = OutgoingClient(configuration(route, server.port))
            let numbers = Numbers()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<width {
                    group.addTask {
                        let upload = upload(client, origin(route, server.port))
                        while true {
                            let number = numbers.next()
                            if isOver(number) { return }
                            let code = try await exchange(number, origin(route, server.port), client, upload)
                            tally.count(code)
                        }
                    }
                }
                try await group.waitForAll()
            }
            await client.shutdown()
            try await server.stop()
        }
        return tally.codes
    }

    private final class Numbers: Sendable {
        private let last = Mutex(0)

        func next() -> Int {
            last.withLock { last in
                last += 1
                return last
            }
        }
    }

    private final class Tally: Sendable {
        private let counts = Mutex([String: Int]())
        var codes: [String: Int] { counts.withLock { $0 } }

        func count(_ code: String) { counts.withLock { $0[code, default: 0] += 1 } }
    }

    private func origin(_ route: Route, _ port: Int) -> String {
        route == .tls ? "https://localhost:\(port)" : "http://127.0.0.1:\(port)"
    }

    private func configuration(_ route: Route, _ port: Int) -> OutgoingConfiguration {
        var configuration = OutgoingConfiguration()
        configuration.policy.allow = [AllowRule("127.0.0.1"), AllowRule("localhost")].compactMap { $0 }
        configuration.limits.connect = .milliseconds(500)
        configuration.limits.idle = .milliseconds(200)
        configuration.certificateFile = tls?.authority
        if route == .proxied { configuration.proxy = ProxyServer("http://127.0.0.1:\(port)") }
        return configuration
    }

    private func upload(_ client: OutgoingClient, _ origin: String) -> Upload {
        var configuration = UploadConfiguration()
        configuration.credentials = { _ in "key:secret" }
        configuration.credentialOrigins = [CredentialOrigin("store=\(origin)")].compactMap { $0 }
        // Larger bodies take several requests.
        configuration.chunkBytes = 300_000
        configuration.partBytes = 300_000
        return Upload(client: client, configuration: configuration)
    }

    private func exchange(
        _ number: Int, _ origin: String, _ client: OutgoingClient, _ upload: Upload
    ) async throws -> String {
        var random = SeededRandom(seed: seed &+ UInt64(number) &* 1_000_003)
        let kind = random.number(0...9)
        let isCancelled = random.chance(10)
        let wait = random.number(0...20)
        let url = "\(origin)/\(number)"
        let body = String(repeating: "x", count: random.pick([0, 1, 1000, 100_000, 1_300_000]))
        let style = random.pick(Upload.Input.Style.allCases)
        return try await withThrowingTaskGroup(of: String?.self) { group in
            group.addTask {
                let work = Task { await code(of: kind, url, body, style, client, upload) }
                if isCancelled {
                    try await Task.sleep(for: .milliseconds(wait))
                    work.cancel()
                }
                return await work.value
            }
            group.addTask {
                try await Task.sleep(for: .seconds(60))
                throw Stuck(number: number, seed: seed)
            }
            defer { group.cancelAll() }
            let first = try await group.next() ?? nil
            return first ?? ""
        }
    }

    private func code(
        of kind: Int, _ url: String, _ body: String, _ style: Upload.Input.Style, _ client: OutgoingClient,
        _ upload: Upload
    ) async -> String {
        let context = OperationContext()
        do throws(KindFailure) {
            switch kind {
            case 0...2:
                _ = try await Unfurl(client: client).run(.init(url: url, timeout: .seconds(1)), context: context)
            case 3...5:
                _ = try await Enrich(client: client).run(.init(url: url, timeout: .seconds(1)), context: context)
            default:
                let credential = style == .s3 ? "store" : nil
                _ = try await upload.run(
                    .init(to: url, style: style, credential: credential, timeout: .seconds(1), body: body),
                    context: context)
            }
            return ""
        } catch {
            return error.code
        }
    }
}
