import Jobs
import SQLite

extension Migration {
    /// Replaces each hidden character with an underscore, since the new CHECKs refuse hidden characters. If the new
    /// name is already in use, a number is appended: `a_b`, `a_b-2`. References to a changed name are updated.
    @Sendable static func showHiddenText(_ connection: Connection) throws(SQLiteError) {
        let queues = HiddenNames(
            next: "SELECT name FROM queue WHERE name > :name ORDER BY name",
            taken: "SELECT 1 FROM queue WHERE name = :name",
            changes: [
                "UPDATE queue SET name = :new WHERE name = :name",
                "UPDATE definition SET queue = :new WHERE queue = :name",
            ])
        let definitions = HiddenNames(
            next: """
                SELECT   name
                FROM     (SELECT name FROM definition UNION SELECT name FROM graph_definition)
                WHERE    name > :name
                ORDER BY name
                """,
            taken: """
                SELECT 1 FROM definition WHERE name = :name
                UNION ALL
                SELECT 1 FROM graph_definition WHERE name = :name
                """,
            changes: [
                "UPDATE definition SET name = :new WHERE name = :name",
                """
                UPDATE graph_definition
                SET    name = :new, body = iif(json_valid(body), json_set(body, '$.name', :new), body)
                WHERE  name = :name
                """,
            ])
        let schedules = HiddenNames(
            next: "SELECT name FROM schedule WHERE name > :name ORDER BY name",
            taken: "SELECT 1 FROM schedule WHERE name = :name",
            changes: [
                """
                UPDATE schedule
                SET    name = :new, body = iif(json_valid(body), json_set(body, '$.name', :new), body)
                WHERE  name = :name
                """
            ])
        let keys = HiddenNames(
            next: "SELECT key FROM idempotency WHERE key > :name ORDER BY key",
            taken: "SELECT 1 FROM idempotency WHERE key = :name",
            changes: ["UPDATE idempotency SET key = :new WHERE key = :name"])
        for names in [queues, definitions, schedules, keys] { try names.show(in: connection) }
        for texts in rows { try texts.show(in: connection) }
    }

    private static let rows: [HiddenTexts] = [
        HiddenTexts(
            next: "SELECT id, summary FROM definition WHERE id > :number AND summary IS NOT NULL ORDER BY id",
            change: "UPDATE definition SET summary = :new WHERE id = :number"),
        HiddenTexts(
            next: """
                SELECT   id, body ->> 'summary'
                FROM     graph_definition
                WHERE    id > :number
                AND      iif(json_valid(body), body ->> 'summary', NULL) IS NOT NULL
                ORDER BY id
                """,
            change: "UPDATE graph_definition SET body = json_set(body, '$.summary', :new) WHERE id = :number"),
        HiddenTexts(
            next: """
                SELECT   number, body ->> 'summary'
                FROM     (SELECT row_number() OVER (ORDER BY name) AS number, body FROM schedule)
                WHERE    number > :number
                AND      iif(json_valid(body), body ->> 'summary', NULL) IS NOT NULL
                ORDER BY number
                """,
            change: """
                UPDATE schedule
                SET    body = json_set(body, '$.summary', :new)
                WHERE  name = (SELECT name FROM schedule ORDER BY name LIMIT 1 OFFSET :number - 1)
                """),
        HiddenTexts(
            next: """
                SELECT   number, summary
                FROM     (SELECT row_number() OVER (ORDER BY name) AS number, summary FROM kind)
                WHERE    number > :number
                ORDER BY number
                """,
            change: """
                UPDATE kind
                SET    summary = :new
                WHERE  name = (SELECT name FROM kind ORDER BY name LIMIT 1 OFFSET :number - 1)
                """),
        HiddenTexts(
            next: "SELECT id, name FROM graph WHERE id > :number AND name IS NOT NULL ORDER BY id",
            change: "UPDATE graph SET name = :new WHERE id = :number"),
        HiddenTexts(
            next: "SELECT id, node FROM job WHERE id > :number AND node IS NOT NULL ORDER BY id",
            change: "UPDATE job SET node = :new WHERE id = :number"),
    ]
}

/// The old name or the number of a row, and its new text.
private enum Field: UInt8, ParameterName {
    case name, number, new
}

/// A column of unique names.
private struct HiddenNames {
    /// Selects the names after a given one, in order.
    let next: SQL
    let taken: SQL
    let changes: [SQL]

    func show(in connection: Connection) throws(SQLiteError) {
        try connection.forEachHiddenText(next, .name, after: "", { ($0.string(0), $0.string(0)) }) {
            (name, text) throws(SQLiteError) in
            let shown = try free(text.withoutHiddenCharacters, in: connection)
            for change in changes {
                try connection.prepare(change, Field.self).run([.name <- name, .new <- shown])
            }
        }
    }

    private func free(_ name: String, in connection: Connection) throws(SQLiteError) -> String {
        let isTaken = try connection.prepare(taken, Field.self)
        var free = name
        var number = 2
        while try isTaken.exists([.name <- free]) {
            // Leaves room for the number: a key has at most 255 bytes.
            var stem = name
            while stem.utf8.count > 240 { stem.removeLast() }
            free = "\(stem)-\(number)"
            number += 1
        }
        return free
    }
}

/// A text column of a table whose rows are numbered.
private struct HiddenTexts {
    /// Selects the number and the text of the rows after a given number, in order.
    let next: SQL
    let change: SQL

    func show(in connection: Connection) throws(SQLiteError) {
        let update = try connection.prepare(change, Field.self)
        try connection.forEachHiddenText(next, .number, after: Int64(0), { ($0.integer(0), $0.string(1)) }) {
            (number, text) throws(SQLiteError) in
            try update.run([.number <- number, .new <- text.withoutHiddenCharacters])
        }
    }
}

extension Connection {
    /// Visits the rows with hidden characters. A table may have very many rows, so at most 1,000 texts are in memory at
    /// a time.
    ///
    /// - Parameters:
    ///   - next: Selects the rows after the one with the given key, in order.
    ///   - first: A key before all others.
    fileprivate func forEachHiddenText<Key: Bindable>(
        _ next: SQL, _ field: Field, after first: Key, _ read: (SQLite.Statement<Field>) -> (key: Key, text: String),
        _ body: (Key, String) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let rows = try prepare(next, Field.self)
        var last = first
        while true {
            var hidden: [(key: Key, text: String)] = []
            try rows.bind([field <- last])
            while hidden.count < 1000, try rows.step() {
                let row = read(rows)
                if HiddenCharacter(in: row.text) != nil { hidden.append(row) }
            }
            rows.reset()
            for (key, text) in hidden { try body(key, text) }
            guard hidden.count == 1000, let end = hidden.last?.key else { return }
            last = end
        }
    }
}
