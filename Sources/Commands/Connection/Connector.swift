import Control

/// Finds the way to the jobs: the daemon's socket, else the database.
struct Connector {
    init(_ options: CommonOptions, _ surroundings: Surroundings) {}
    func open() async throws -> Session { throw CommandFailure(.unavailable, "") }
}
