import Jobs
import Testing

@Suite struct DatabaseAddressTests {
    @Test(arguments: [
        "/var/lib/halyard/halyard.db", "halyard.db", "./postgresql", "jobs:2026.db", "7:1.db", "a b.db", "/a://b",
        "./mysql://x",
    ])
    func aPathIsAFile(_ text: String) throws {
        #expect(try DatabaseAddress(text) == .file(path: text))
        #expect(try DatabaseAddress(text).description == text)
    }

    @Test(arguments: [
        ("postgresql://halyard@db.example/jobs", "postgresql://halyard@db.example/jobs"),
        ("postgres://db.example:5433/jobs", "postgresql://db.example:5433/jobs"),
        ("POSTGRESQL:///jobs", "postgresql:///jobs"),
        ("postgresql://halyard:secret@db/jobs?sslmode=verify-full&password=secret", "postgresql://halyard@db/jobs"),
        ("postgresql://halyard:sec@ret/s@db/jobs", "postgresql://halyard@db/jobs"),
        ("postgresql://%2Frun%2Fpostgresql/jobs#x", "postgresql://%2Frun%2Fpostgresql/jobs"),
    ])
    func aURLIsShownWithoutItsPassword(_ text: String, _ shown: String) throws {
        let address = try DatabaseAddress(text)
        #expect(address == .postgresql(url: text))
        #expect(address.path == nil)
        #expect(address.description == shown)
        #expect(!address.description.contains("sec"))
    }

    @Test(arguments: [
        ("", DatabaseAddressProblem.empty), ("postgresql:", .incomplete), ("postgresql:jobs", .incomplete),
        ("postgresql:/jobs", .incomplete), ("Postgres://", .incomplete), ("mysql://db/jobs", .unknownScheme("mysql")),
        ("http://db", .unknownScheme("http")), ("postgresq://u:secret@db/jobs", .unknownScheme("postgresq")),
    ])
    func aMistypedURLIsNoFile(_ text: String, _ problem: DatabaseAddressProblem) {
        #expect(throws: problem) { try DatabaseAddress(text) }
        #expect(!problem.description.contains("secret"))
    }
}
