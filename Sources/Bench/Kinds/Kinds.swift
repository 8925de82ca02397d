/// The parts of the bench `kinds`, each of which can also be run alone.
enum KindsBench: String, CaseIterable {
    /// Beside curl, through the daemon.
    case upload
    /// Beside curl, through the daemon.
    case unfurl
    /// The metadata of pages, hostile ones among them.
    case enrich

    func measure() async throws -> [Row] {
        switch self {
        case .upload: try await DavServer.with { try measureUploads(to: $0) }
        case .unfurl: try await DavServer.with { try await measureUnfurl(at: $0) }
        case .enrich: try await measureEnrich() + [try await measureHostilePages()]
        }
    }
}
