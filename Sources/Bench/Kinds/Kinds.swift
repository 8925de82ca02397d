/// The parts of the bench `kinds`. Each can also be run alone.
enum KindsBench: String, CaseIterable {
    /// Uploads through the daemon, compared with curl.
    case upload
    /// Chains of redirects through the daemon, compared with curl.
    case unfurl
    /// Extraction of metadata from pages, including hostile ones.
    case enrich

    func measure() async throws -> [Row] {
        switch self {
        case .upload: try await DavServer.with { try measureUploads(to: $0) }
        case .unfurl: try await DavServer.with { try await measureUnfurl(at: $0) }
        case .enrich: try await measureEnrich() + [try await measureHostilePages()]
        }
    }
}
