import Foundation
import PostgresServer
import Testing

@testable import PostgreSQL

@Suite(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed")) struct ConnectionTests {
    let url: String

    init() throws { url = try #require(PostgresServer.shared).makeDatabase() }

    @Test func valuesComeBackAsTheyWereSent() throws {
        let connection = try Connection(to: url)
        let statement = Statement(
            "SELECT $1::bigint, $2::text, $3::bigint[], $4::text[], $5::boolean, $6::bigint, -1::smallint")
        let rows = try connection.run(
            statement,
            [
                .integer(Int64.min), .text("ä\n\"'"), .integers([1, -2] as [Int64]), .texts(["", "b", nil]),
                .boolean(true),
                .null,
            ])
        let row = try #require(rows.first)
        #expect(row.integer(0) == .min)
        #expect(row.string(1) == "ä\n\"'")
        #expect(row.boolean(4))
        #expect(row.isNull(5))
        #expect(row.integer(6) == -1)
        let elements = try connection.run(
            Statement("SELECT a, b FROM unnest($1::bigint[], $2::text[]) AS t (a, b)"),
            [.integers([7, nil, 9]), .texts(["", nil, "x"] as [String?])])
        #expect(elements.map { $0.optionalInteger(0) } == [7, nil, 9])
        #expect(elements.map { $0.optionalString(1) } == ["", nil, "x"])
        // Arrays of NULLs are sent as empty arrays.
        let nulls = try connection.run(
            Statement(
                """
                SELECT a, b, c, ($2::bigint[])[a], cardinality($2::bigint[]), cardinality($3::text[])
                FROM   unnest($1::bigint[], $2::bigint[], $3::text[]) AS t (a, b, c)
                """),
            [.integers([1, 2] as [Int64]), .integers([nil, nil]), .texts([nil, nil])])
        #expect(nulls.map { $0.integer(0) } == [1, 2])
        #expect(nulls.map { row in (1...3).allSatisfy { row.isNull($0) } } == [true, true])
        #expect(nulls.map { [$0.integer(4), $0.integer(5)] } == [[0, 0], [0, 0]])
        #expect(
            try connection.run(Statement("SELECT count(*) FROM unnest($1::bigint[])"), [.integers([Int64]())])[0]
                .integer(0) == 0)
    }

    @Test(arguments: [
        "postgresql://u:sec%zzret@h/d", "postgresql://u:sec/ret@t@h", "postgresql://u:secret@[::1/d",
        "postgresql://u:se@cret@127.0.0.1.invalid/d", "password=secret no sense",
        "postgresql://u:x@sec,ret@127.0.0.1.invalid/d", "postgresql://u:x@127.0.0.1:1,sec@ret,127.0.0.1:1/d",
    ])
    func anErrorAboutTheURLQuotesNothingOfIt(url: String) throws {
        let error = #expect(throws: PostgresError.self) { _ = try Connection(to: url) }
        #expect(error?.cause == .unreachable)
        for part in ["sec", "ret", "cret"] { #expect(error?.message.contains(part) == false) }
    }

    @Test func anErrorAboutTheServerNamesIt() throws {
        let missing = #expect(throws: PostgresError.self) {
            _ = try Connection(to: "postgresql:///d?host=/nonexistent/folder")
        }
        #expect(missing?.message.contains("/nonexistent/folder") == true)
        let unknown = #expect(throws: PostgresError.self) { _ = try Connection(to: "postgresql://no-host.invalid/d") }
        #expect(unknown?.message.contains("no-host.invalid") == true)
        let two = #expect(throws: PostgresError.self) {
            _ = try Connection(to: "postgresql://no-host.invalid,other-host.invalid/d")
        }
        for host in ["no-host.invalid", "other-host.invalid"] { #expect(two?.message.contains(host) == true) }
    }

    @Test func aRefusedStatementLeavesTheConnectionUsable() throws {
        let connection = try Connection(to: url)
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT 1/0") }
        #expect(error?.sqlState == "22012")
        #expect(error?.cause == .refused)
        #expect(try connection.run("SELECT 42")[0].string(0) == "42")
    }

    @Test func aViolatedConstraintIsNamed() throws {
        let connection = try Connection(to: url)
        try connection.run("CREATE TABLE t (id bigint CONSTRAINT only_one PRIMARY KEY); INSERT INTO t VALUES (1)")
        let error = #expect(throws: PostgresError.self) { try connection.run("INSERT INTO t VALUES (1)") }
        #expect(error?.constraint == "only_one")
        #expect(error?.isConflict == true)
    }

    @Test func statementsThatWerePutOffRunInOrder() throws {
        let connection = try Connection(to: url)
        try connection.run("CREATE TABLE t (id bigint)")
        let insert = Statement("INSERT INTO t SELECT count(*) FROM t RETURNING id")
        let answers = (0..<3).map { _ in connection.putOff(insert) }
        #expect(answers.allSatisfy { $0.rows == nil })
        #expect(try connection.run(Statement("SELECT count(*) FROM t"))[0].integer(0) == 3)
        #expect(answers.map { $0.rows?.first?.integer(0) } == [0, 1, 2])
        connection.putOff(insert)
        #expect(try connection.run("SELECT count(*) FROM t")[0].string(0) == "4")
        connection.putOff(insert)
        connection.dropPutOff()
        try connection.runPutOff()
        #expect(try connection.run(Statement("SELECT count(*) FROM t"))[0].integer(0) == 4)
    }

    @Test func aFailureOfAStatementThatWasPutOffStopsTheOthers() throws {
        let connection = try Connection(to: url)
        try connection.run("CREATE TABLE t (id bigint CONSTRAINT only_one PRIMARY KEY); INSERT INTO t VALUES (1)")
        try connection.run("BEGIN")
        let insert = Statement("INSERT INTO t VALUES ($1::bigint)")
        connection.putOff(insert, [.integer(2)])
        let duplicate = connection.putOff(insert, [.integer(1)])
        let error = #expect(throws: PostgresError.self) { try connection.run(Statement("COMMIT")) }
        #expect(error?.constraint == "only_one")
        #expect(error?.isOfEarlierStatement == true)
        #expect(duplicate.rows == nil)
        // The transaction was not committed, and the connection is usable.
        try connection.run("ROLLBACK")
        #expect(try connection.run(insert, [.integer(2)]).changes == 1)
        connection.putOff(insert, [.integer(3)])
        let own = #expect(throws: PostgresError.self) { try connection.run(insert, [.integer(1)]) }
        #expect(own?.isOfEarlierStatement == false)
        // Outside a transaction, the statements of one round trip are one transaction.
        #expect(try connection.run("SELECT count(*) FROM t")[0].string(0) == "2")
    }

    @Test func manyLargeStatementsFitIntoOneRoundTrip() throws {
        let connection = try Connection(to: url)
        let echo = Statement("SELECT $1::text")
        let text = String(repeating: "x", count: 1 << 20)
        let answers = (0..<32).map { connection.putOff(echo, [.text("\($0)\(text)")]) }
        try connection.runPutOff()
        for (index, answer) in answers.enumerated() { #expect(answer.rows?.first?.string(0) == "\(index)\(text)") }
    }

    @Test func aBackendTerminatedAmongStatementsThatWerePutOffIsALostConnection() throws {
        let connection = try Connection(to: url)
        connection.putOff(Statement("SELECT 1"))
        connection.putOff(Statement("SELECT pg_terminate_backend(pg_backend_pid())"))
        let error = #expect(throws: PostgresError.self) { try connection.run(Statement("SELECT 2")) }
        #expect(error?.cause == .lost)
        #expect(error?.isOfEarlierStatement == true)
        #expect(!connection.isOpen)
        #expect(throws: PostgresError.self) { try connection.run("SELECT 1") }
    }

    @Test func aStatementThatCannotBePreparedStopsTheOnesThatWerePutOff() throws {
        let connection = try Connection(to: url)
        try connection.run("CREATE TABLE t (id bigint)")
        connection.putOff(Statement("INSERT INTO t VALUES (1)"))
        let error = #expect(throws: PostgresError.self) { try connection.run(Statement("SELECT * FROM missing")) }
        #expect(error?.sqlState == SQLState.undefinedTable)
        #expect(error?.isOfEarlierStatement == true)
        #expect(try connection.run("SELECT count(*) FROM t")[0].string(0) == "0")
    }

    @Test func aTerminatedBackendIsALostConnection() throws {
        let connection = try Connection(to: url)
        let other = try Connection(to: url)
        try other.run("SELECT pg_terminate_backend(\(connection.backend))")
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT pg_sleep(10)") }
        #expect(error?.cause == .lost)
        #expect(!connection.isOpen)
        #expect(throws: PostgresError.self) { try connection.run("SELECT 1") }
    }

    @Test func aServerThatDoesNotAnswerInTimeIsLost() throws {
        var options = ConnectionOptions()
        options.answerTimeout = .milliseconds(100)
        let connection = try Connection(to: url, options: options)
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT pg_sleep(60)") }
        #expect(error?.cause == .lost)
    }

    @Test func aHostThatDoesNotAnswerIsFollowedByTheNext() throws {
        // Connections to it are made by the kernel, and nobody answers them.
        let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(silent) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(silent, name, length) == 0 && listen(silent, 8) == 0 && getsockname(silent, name, &length) == 0
            }
        }
        try #require(isListening)
        let hosts = url.replacingOccurrences(of: "?host=", with: "?host=127.0.0.1,")
        let port = UInt16(bigEndian: address.sin_port)
        let connection = try Connection(to: "\(hosts)&port=\(port),5432&connect_timeout=2")
        #expect(try connection.run("SELECT 1")[0].string(0) == "1")
    }

    @Test func aPasswordFileIsReadAndNotShown() throws {
        var options = ConnectionOptions()
        options.passwordFile = "/nonexistent/password"
        let error = #expect(throws: PostgresError.self) { try Connection(to: url, options: options) }
        #expect(error?.cause == .unreachable)
        #expect(error?.message.contains("/nonexistent/password") == true)
        let path = FileManager.default.temporaryDirectory.appending(path: "halyard-password-\(UUID().uuidString)").path
        try Data("secret\nnot part of it".utf8).write(to: URL(filePath: path))
        // A file that stays behind harms nobody.
        defer { try? FileManager.default.removeItem(atPath: path) }
        options.passwordFile = path
        #expect(try options.readPassword() == "secret")
        // A credential that has no file yet is empty.
        try Data("\n".utf8).write(to: URL(filePath: path))
        #expect(try options.readPassword() == nil)
        #expect(try Connection(to: url, options: options).isOpen)
    }

    /// libpq's message has a line about the file.
    @Test(.timeLimit(.minutes(1))) func aWrongPasswordInAFileIsReportedAsSuch() throws {
        let admin = try Connection(to: url)
        let role = "locked_\(UInt32.random(in: 0...UInt32.max))"
        try admin.run("CREATE ROLE \(role) LOGIN PASSWORD 'right'")
        // The first line that matches decides.
        let rules = try admin.run("SHOW hba_file")[0].string(0)
        try admin.run("COPY (SELECT 1) TO PROGRAM 'sed -i \"1i local all \(role) scram-sha-256\" \(rules)'")
        try admin.run("SELECT pg_reload_conf()")
        let path = FileManager.default.temporaryDirectory.appending(path: "halyard-pgpass-\(UUID().uuidString)").path
        // A file that stays behind harms nobody.
        defer { try? FileManager.default.removeItem(atPath: path) }
        func connect(_ password: String) throws {
            let line = Data("*:*:*:\(role):\(password)\n".utf8)
            try line.write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            _ = try Connection(to: url.replacing("halyard@", with: "\(role)@") + "&passfile=" + path)
        }
        var failure: PostgresError?
        // The server reads its rules again within moments.
        while failure == nil {
            do { try connect("wrong") } catch let error as PostgresError { failure = error }
        }
        #expect(failure?.message.contains("password authentication failed for user \"\(role)\"") == true)
        #expect(failure?.message.contains(path) == true)
        try connect("right")
        try admin.run("DROP ROLE \(role)")
    }

    @Test func aMissingServerIsUnreachable() {
        let error = #expect(throws: PostgresError.self) { try Connection(to: "postgresql:///none?host=/nowhere") }
        #expect(error?.cause == .unreachable)
    }

    @Test func aRunningStatementCanBeCancelled() async throws {
        let other = try Connection(to: url)
        let (cancellers, continuation) = AsyncStream.makeStream(of: Canceller.self)
        let url = url
        async let failure = Task.detached { () -> PostgresError? in
            do {
                let connection = try Connection(to: url)
                continuation.yield(try connection.canceller())
                try connection.run("SELECT pg_sleep(60)")
                return nil
            } catch {
                return error as? PostgresError
            }
        }.value
        let canceller = try #require(await cancellers.first { _ in true })
        while try other.run(
            "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()"
        ).count == 0 {
            await Task.yield()
        }
        canceller.cancel()
        #expect(await failure?.sqlState == SQLState.cancelled)
    }

    @Test func notificationsArriveFromOtherConnections() throws {
        let listener = try Connection(to: url)
        let sender = try Connection(to: url)
        try listener.run("LISTEN news")
        try sender.run("NOTIFY news, 'ready'")
        // The wait ends early if there is nothing else to read.
        let found = try listener.notifications(orUntilReadable: -1, timeout: .seconds(10))
        #expect(found.map(\.channel) == ["news"])
        #expect(found.map(\.payload) == ["ready"])
        #expect(found.map(\.backend) == [sender.backend])
    }
}
