import Programs

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
        case .upload: try await withServer { try await measureUploads(to: $0) }
        case .unfurl: try await withServer { try await measureUnfurl(at: $0) }
        case .enrich: try await measureEnrich() + [try await measureHostilePages()]
        }
    }

    /// Runs nginx with its files in memory. It accepts PUT in `/inbox/`. It redirects `/1` four times and then answers
    /// with text, and redirects `/p1` four times and then answers with a page.
    private func withServer(_ body: (Nginx) async throws -> [Row]) async throws -> [Row] {
        let scratch = try Scratch(in: "/dev/shm")
        return try await Nginx.with(
            in: scratch.path,
            locations: """
                location = /1 { return 301 /2$is_args$args; }
                location = /2 { return 302 /3$is_args$args; }
                location = /3 { return 307 /4$is_args$args; }
                location = /4 { return 308 /5$is_args$args; }
                location = /5 { default_type text/plain; return 200 "there"; }
                location = /p1 { return 301 /p2$is_args$args; }
                location = /p2 { return 302 /p3$is_args$args; }
                location = /p3 { return 307 /p4$is_args$args; }
                location = /p4 { return 308 /p5$is_args$args; }
                location = /p5 {
                    default_type text/html;
                    return 200 "<!doctype html><title>There</title><link rel=canonical href=/there><p>You are there.";
                }
                location /inbox/ { dav_methods PUT; create_full_put_path on; }
                """, body)
    }
}
