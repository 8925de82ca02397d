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
        ("postgresql://halyard:sec?ret@db/jobs?sslmode=require", "postgresql://halyard@db/jobs"),
        ("postgresql://halyard:sec#ret@db/jobs", "postgresql://halyard@db/jobs"),
        ("postgresql://halyard:sec@ret?sec#s@db:5433/jobs", "postgresql://halyard@db:5433/jobs"),
        ("postgresql://halyard:sec/ret?s@db/jobs", "postgresql://halyard"),
        ("postgresql://halyard:sec/ret#s@db/jobs", "postgresql://halyard"),
        ("postgresql://db?password=sec@ret", "postgresql://db"),
        ("postgresql://db:5433?password=sec@sec/ret", "postgresql://db"),
        ("postgresql://db:5433/jobs?user=me@azure", "postgresql://db:5433/jobs"),
        ("postgresql://@db/jobs", "postgresql://@db/jobs"),
    ])
    func aURLIsShownWithoutItsPassword(_ text: String, _ shown: String) throws {
        let address = try DatabaseAddress(text)
        #expect(address == .postgresql(url: text))
        #expect(address.path == nil)
        #expect(address.description == shown)
        #expect(!address.description.contains("sec"))
    }

    @Test(arguments: [
        (
            "postgresql://u:sec?ret@db/jobs?sslmode=require&password=sec&sec&sslrootcert=/ca.pem",
            "postgresql://u@db/jobs?sslmode=require&sslrootcert=/ca.pem"
        ),
        ("postgresql://u:sec/ret?s@db/jobs?sslmode=require", "postgresql://u"),
        ("postgresql://db/jobs?user=me@azure", "postgresql://db/jobs?user=me@azure"),
        ("postgresql://db/jobs#?password=sec", "postgresql://db/jobs"),
    ])
    func aConfigurationContainsTheURLWithoutItsPassword(_ text: String, _ shown: String) throws {
        #expect(try DatabaseAddress(text).withoutPassword == shown)
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
