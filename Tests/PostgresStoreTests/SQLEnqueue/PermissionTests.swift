import Foundation
import Jobs
import PostgreSQL
import PostgresServer
import PostgresStore
import Testing

/// The roles for other programs may do what they are for, and nothing else.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(10)))
struct PermissionTests {
    private static let views = [
        "jobs", "results", "attempts", "queues", "graphs", "waiting", "definitions", "schedules", "daemons",
    ]
    private static let enqueue = "SELECT halyard.enqueue('noop')"

    /// A login role that is a member of others.
    private func login(_ ways: TwoWays, member of: String?) throws -> Connection {
        let owner = try ways.connect()
        let name = "login_" + UUID().uuidString.lowercased().replacing("-", with: "_")
        try owner.run("CREATE ROLE \(name) LOGIN" + (of.map { " IN ROLE \($0)" } ?? ""))
        return try Connection(to: ways.database.url.replacing("//halyard@", with: "//\(name)@"))
    }

    /// Statements that read or change each table, view and sequence of the schema, and call each of its functions.
    private func attempts(_ ways: TwoWays) throws -> [(what: String, sql: String)] {
        let owner = try ways.connect()
        // The owner has the name of the schema, which would be left out.
        try owner.run("SET search_path = pg_catalog")
        let relations = try owner.run(
            """
            SELECT relname, relkind::text FROM pg_class
            WHERE relnamespace = 'halyard'::regnamespace AND relkind IN ('r', 'v', 'p', 'S') ORDER BY relname
            """
        ).map { row -> [(String, String)] in
            let name = row.string(0)
            let table = "halyard.\"\(name)\""
            if row.string(1) == "S" {
                return [
                    ("read \(name)", "SELECT * FROM \(table)"), ("use \(name)", "SELECT nextval('halyard.\(name)')"),
                    ("set \(name)", "SELECT setval('halyard.\(name)', 1)"),
                ]
            }
            let read = [("read \(name)", "SELECT * FROM \(table) LIMIT 1")]
            // Nobody can change a view.
            if row.string(1) == "v" { return read }
            return read + [
                ("lock \(name)", "LOCK TABLE \(table) IN EXCLUSIVE MODE"), ("empty \(name)", "DELETE FROM \(table)"),
                ("insert \(name)", "INSERT INTO \(table) DEFAULT VALUES"),
            ]
        }
        let functions = try owner.run(
            """
            SELECT   oid::regprocedure::text,
                     'SELECT ' || oid::regproc || '(' || coalesce((
                         SELECT string_agg('NULL::' || argument::regtype, ', ' ORDER BY place)
                         FROM   unnest(proargtypes) WITH ORDINALITY AS list (argument, place)), '') || ')'
            FROM     pg_proc
            WHERE    pronamespace = 'halyard'::regnamespace
            ORDER BY 1
            """
        ).map { ($0.string(0), $0.string(1)) }
        return relations.flatMap { $0 } + functions
    }

    /// The attempts that succeed, or fail for another reason than a missing permission.
    private func permitted(_ ways: TwoWays, _ connection: Connection) throws -> Set<String> {
        var permitted: Set<String> = []
        for (what, sql) in try attempts(ways) {
            do throws(PostgresError) {
                try connection.run("BEGIN; \(sql)")
                permitted.insert(what)
            } catch {
                if error.sqlState != SQLState.insufficientPrivilege { permitted.insert(what) }
            }
            try connection.run("ROLLBACK")
        }
        return permitted
    }

    private func withWays(_ body: (TwoWays) async throws -> Void) async throws {
        try await Turns.shared.run {
            let ways = try await TwoWays()
            try await body(ways)
            await ways.close()
        }
    }

    @Test func anEnqueuerMayOnlyEnqueue() async throws {
        try await withWays { ways in
            let connection = try login(ways, member: "halyard_enqueuer")
            try connection.run(Self.enqueue)
            let found = try permitted(ways, connection)
            #expect(
                found == [
                    "halyard.enqueue(text,jsonb,text,text,text,timestamp with time zone,interval,bigint[],bigint[])",
                    "halyard.enqueue_graph(text,jsonb,text,text,text,timestamp with time zone,interval,bigint[],bigint[])",
                ])
        }
    }

    @Test func aReaderMayOnlyReadTheViews() async throws {
        try await withWays { ways in
            let connection = try login(ways, member: "halyard_reader")
            let owner = try ways.connect()
            try owner.run("SELECT halyard.enqueue('save', '{\"url\": \"https://a\"}')")
            for view in Self.views {
                let count = "SELECT count(*) FROM halyard.\(view)"
                #expect(try connection.run(count)[0].string(0) == owner.run(count)[0].string(0), "\(view)")
            }
            // The views call these functions with the permissions of their reader.
            #expect(
                try permitted(ways, connection)
                    == Set(
                        Self.views.map { "read \($0)" } + [
                            "halyard.iso(bigint)", "halyard.tally(bigint)", "halyard.problem_of(text)",
                            "halyard.home_of(bigint)", "halyard.is_full_per_daemon(bigint,text)",
                            "halyard.unserved(text,text)",
                        ]))
        }
    }

    @Test func anybodyElseSeesNothing() async throws {
        try await withWays { ways in
            let connection = try login(ways, member: nil)
            #expect(try permitted(ways, connection) == [])
        }
    }

    @Test func objectsOfTheCallerDoNotReplaceThoseOfTheFunctions() async throws {
        try await withWays { ways in
            let connection = try login(ways, member: "halyard_enqueuer")
            try connection.run(
                """
                CREATE TEMPORARY TABLE plan (id bigint);
                CREATE FUNCTION pg_temp.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 1 / 0';
                CREATE FUNCTION pg_temp.upper(text) RETURNS text LANGUAGE sql AS 'SELECT 1 / 0';
                SET search_path = pg_temp, public
                """)
            try connection.run(Self.enqueue)
            #expect(throws: PostgresError.self) { try connection.run("SELECT halyard.enqueue('none')") }
            #expect(try connection.run("SHOW search_path")[0].string(0) == "pg_temp, public")
        }
    }

    @Test func aDatabaseOwnerWithoutThePermissionToCreateRolesUsesThoseThatExist() async throws {
        guard let server = PostgresServer() else { throw NoServer() }
        let name = "plain"
        let superuser = try Connection(to: server.url)
        try superuser.run("CREATE ROLE plain LOGIN; CREATE ROLE app LOGIN")
        try superuser.run("CREATE DATABASE plain OWNER plain")
        let own = server.url.replacing("/postgres?", with: "/plain?")
        let owned = own.replacing("//halyard@", with: "//\(name)@")
        let store = try PostgresJobStore.open(owned)
        let holder = try await store.begin(Holder(identity: "1", host: "a", version: "1"), now: TwoWays.now).id
        try await store.register(SampleDefinitions.kinds, by: holder, now: TwoWays.now)
        try await store.change(SampleDefinitions.change, now: TwoWays.now)
        let roles = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'halyard\\_%'"
        #expect(try superuser.run(roles)[0].string(0) == "0")
        let app = try Connection(to: own.replacing("//halyard@", with: "//app@"))
        #expect(throws: PostgresError.self) { try app.run(Self.enqueue) }
        // The statements of the documentation.
        let inDatabase = try Connection(to: own)
        try inDatabase.run("CREATE ROLE halyard_enqueuer; CREATE ROLE halyard_reader; SELECT halyard.grant_roles()")
        try superuser.run("GRANT halyard_enqueuer, halyard_reader TO app")
        try app.run(Self.enqueue)
        #expect(try app.run("SELECT state FROM halyard.jobs")[0].string(0) == "ready")
        await store.close()
    }
}
