import Programs
import Samples

extension Nginx {
    /// Runs nginx with a folder that accepts PUT and DELETE, and with locations that refuse them.
    package static func with<T>(_ body: (Nginx) async throws -> T) async throws -> T {
        try await withFolder { folder in
            try await with(
                in: folder,
                locations: """
                    location /host { default_type text/plain; return 200 $host; }
                    location /strict { add_header Strict-Transport-Security "max-age=60"; return 204; }
                    location /small/ { dav_methods PUT; client_max_body_size 1k; }
                    location /readonly/ { limit_except GET { deny all; } }
                    location / { dav_methods PUT DELETE; create_full_put_path on; gzip on; gzip_types *; gzip_min_length 1; }
                    """, body)
        }
    }
}
