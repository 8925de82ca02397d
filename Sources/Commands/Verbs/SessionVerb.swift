/// A verb that works in one session, which it only reads unless it is a ``WritingVerb``.
protocol SessionVerb: Verb {
    static var purpose: Connector.Purpose { get }
    var common: CommonOptions { get }

    func run(in session: Session) async throws -> ExitCode
}

/// A verb that writes in its session.
protocol WritingVerb: SessionVerb {}

extension WritingVerb {
    static var purpose: Connector.Purpose { .writing }
}

extension SessionVerb {
    static var purpose: Connector.Purpose { .reading }

    func run(in surroundings: Surroundings) async throws -> ExitCode {
        try await Session.with(common, for: Self.purpose, in: surroundings) { try await run(in: $0) }
    }
}
