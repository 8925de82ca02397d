/// `upload` beside curl, `unfurl` beside curl, and what `enrich` makes of pages, hostile ones among them.
func measureKinds() async throws -> [Row] {
    var rows: [Row] = []
    try await DavServer.with { server in
        rows += try measureUploads(to: server)
        rows += try await measureUnfurl(at: server)
    }
    rows += try await measureEnrich()
    return rows + [try await measureHostilePages()]
}
