import Jobs
import PostgreSQL
import StoreParts

extension PostgresJobStore {
    /// Opens a database by its URL. Creates the schema `halyard`, or migrates an older one; never replaces anything
    /// (P11).
    ///
    /// - Parameter clock: The clock that counts instead of the server's, for tests; nil for the server's.
    /// - Throws: ``PostgresOpenError``. Trying again later is safe.
    public static func open(
        _ url: String, options: PostgresStoreOptions = PostgresStoreOptions(), clock: (any StoreClock)? = nil
    ) throws(PostgresOpenError) -> PostgresJobStore {
        // Callers and the stop wait for the answers of a server that is frozen.
        let answerTimeout = min(options.answerTimeout, max(options.lifeLength / 2, .seconds(5)))
        var link = Link(to: url, name: "halyard", options: options)
        let offset = clock == nil ? ClockOffset() : nil
        let connection = try connect(link)
        if options.isBrief {
            try connection.requireSchema()
        } else if try !connection.hasCurrentSchema() {
            let patient = Link(
                to: url, name: "halyard", options: options,
                answerTimeout: options.answerTimeout * PostgresStoreOptions.patience)
            try connect(patient).migrate()
        }
        try connection.refuseMoved()
        try offset?.measure(connection)
        let server = link.server
        let identity = try connection.mappingErrors { () throws(PostgresError) in
            try connection.run("SELECT identity FROM halyard.settings")[0].string(0)
        }
        if !options.isBrief {
            link.close()
            link = Link(to: url, name: "halyard", options: options, answerTimeout: answerTimeout)
            link.mustBeDurable = true
        }
        let observers = Observers()
        let listener = options.isBrief ? nil : try Listener(url, options: options, observers: observers)
        let (health, problems) = (WriteHealth(), WriteProblems())
        func writer(
            _ link: Link, _ name: String, _ health: WriteHealth = WriteHealth()
        ) throws(PostgresOpenError) -> RequestThread<Writer> {
            let number = listener?.id ?? Int64.random(in: 1...Int64.max)
            let writer = Writer(link, listener: number, clock: clock, offset: offset, options: options)
            return try RequestThread(
                named: name,
                Handover(CommitLoop(writer, observers: observers, health: health, problems: problems)))
        }
        func reader(
            _ name: String, answerTimeout: Duration? = nil
        ) throws(PostgresOpenError) -> RequestThread<Reader> {
            let link = Link(to: url, name: name, options: options, answerTimeout: answerTimeout)
            let reader = Reader(link, clock: clock)
            return try RequestThread(named: name, Handover(ReadLoop(reader, server: server)))
        }
        let lives = Link(
            to: url, name: "halyard lives", options: options, answerTimeout: LifeKeeper.answerTimeout(of: options),
            connectTimeout: LifeKeeper.connectTimeout(of: options))
        let keeper = LifeKeeper(Reader(lives, clock: clock), length: options.lifeLength)
        let enqueues = Link(
            to: url, name: "halyard enqueues", options: options, answerTimeout: options.isBrief ? nil : answerTimeout)
        enqueues.mustBeDurable = true
        let bulk = Link(to: url, name: "halyard bulk", options: options)
        bulk.mustBeDurable = true
        let rotor = Rotor(Link(to: url, name: "halyard rotation", options: options), options: options)
        return PostgresJobStore(
            server: server, identity: identity, writing: try writer(link, "halyard-writer", health),
            enqueueing: try writer(enqueues, "halyard-enqueue"), bulk: try writer(bulk, "halyard-bulk"),
            lives: try RequestThread(
                named: "halyard-lives", Handover(LifeRequestLoop(keeper, server: server))),
            reading: try reader("halyard-reader", answerTimeout: answerTimeout),
            listing: try reader("halyard-lists"),
            rotating: RotationThread(
                try RequestThread(named: "halyard-rotate", Handover(RotationLoop(rotor))), pause: options.rotationPause),
            listener: listener, observers: observers, offset: offset, health: health, onRescue: options.onRescue)
    }

    /// Checks whether a database could be opened, and changes nothing.
    ///
    /// - Throws: ``PostgresOpenError``, also ``PostgresOpenError/missing(server:)`` if opening it would create the schema.
    public static func check(
        _ url: String, options: PostgresStoreOptions = PostgresStoreOptions()
    ) throws(PostgresOpenError) {
        let connection = try connect(Link(to: url, name: "halyard check", options: options))
        guard let found = try connection.schema() else { throw .missing(server: connection.server) }
        _ = try connection.isUsable(found)
        try connection.refuseMoved()
    }

    /// Connects to a server that keeps the promises of a store.
    static func connect(_ link: Link) throws(PostgresOpenError) -> Connection {
        let connection: Connection
        do throws(PostgresError) {
            connection = try link.connection()
        } catch {
            throw PostgresOpenError(error, server: link.server)
        }
        guard connection.serverVersion >= 150_000 else {
            throw .serverTooOld(server: link.server, version: connection.serverVersion)
        }
        if try connection.mappingErrors({ () throws(PostgresError) in try connection.isPooled(as: link) }) {
            throw .pooled(server: link.server)
        }
        let setting = try connection.mappingErrors { () throws(PostgresError) in try connection.lossySetting() }
        if let setting { throw .notDurable(server: link.server, setting: setting) }
        link.mustBeDurable = true
        return connection
    }
}

extension Connection {
    /// A setting of the server with which a power cut loses acknowledged commits; nil if there is none.
    func lossySetting() throws(PostgresError) -> String? {
        try run(
            """
            SELECT   name || ' = off'
            FROM     pg_settings
            WHERE    name IN ('fsync', 'full_page_writes', 'synchronous_commit')
            AND      setting = 'off'
            ORDER BY name
            LIMIT    1
            """
        ).first?.string(0)
    }

    /// Whether the connection goes through a pooler in transaction mode, which loses settings, prepared statements and
    /// notifications.
    fileprivate func isPooled(as link: Link) throws(PostgresError) -> Bool {
        let process = try run("SELECT pg_backend_pid()")[0].string(0)
        // A pooler tells its clients a number of its own, so this connection is direct.
        if process == "\(backend)" { return false }
        // A pooler in transaction mode gives the transaction on `other` the same process, or gives this connection another
        // one.
        let other = try link.another()
        other.answerTimeout = .seconds(2)
        do throws(PostgresError) {
            if try other.run("BEGIN; SELECT pg_backend_pid()")[0].string(0) == process { return true }
        } catch {
            // A pooler in session mode may make `other` wait until another client leaves.
            guard error.cause == .lost else { throw error }
        }
        return try run("SELECT pg_backend_pid()")[0].string(0) != process
    }

    /// Whether this release can use the schema without a migration.
    fileprivate func hasCurrentSchema() throws(PostgresOpenError) -> Bool {
        guard let found = try schema() else { return false }
        return try isUsable(found)
    }

    /// Refuses a database whose schema this release cannot use.
    fileprivate func requireSchema() throws(PostgresOpenError) {
        guard let found = try schema() else { throw .missing(server: server) }
        guard try isUsable(found) else {
            throw .schemaTooOld(server: server, found: found.version, needed: Migration.current)
        }
    }
}

extension ClockOffset {
    /// Measures the server's clock once, before the first transaction does.
    fileprivate func measure(_ connection: Connection) throws(PostgresOpenError) {
        let start = start()
        let time = try connection.mappingErrors { () throws(PostgresError) in
            try connection.run("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")[0].string(0)
        }
        if let milliseconds = Int64(time) { measured(Timestamp(milliseconds: milliseconds), since: start) }
    }
}
