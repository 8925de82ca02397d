import Jobs
import SQLite

extension Migration {
    /// Replaces each hidden character with an underscore, since the new CHECKs refuse hidden characters. If the new
    /// name is already in use, a number is appended: `a_b`, `a_b-2`. References to a changed name are updated.
    @Sendable static func showHiddenText(_ connection: Connection) throws(SQLiteError) {
        let queues = HiddenNames(
            next: "SELECT name FROM queue WHERE name > ?1 ORDER BY name",
            taken: "SELECT 1 FROM queue WHERE name = ?1",
            changes: [
                "UPDATE queue SET name = ?2 WHERE name = ?1", "UPDATE definition SET queue = ?2 WHERE queue = ?1",
            ])
        let definitions = HiddenNames(
            next: """
                SELECT   name
                FROM     (SELECT name FROM definition UNION SELECT name FROM graph_definition)
                WHERE    name > ?1
                ORDER BY name
                """,
            taken: """
                SELECT 1 FROM definition WHERE name = ?1
                UNION ALL
                SELECT 1 FROM graph_definition WHERE name = ?1
                """,
            changes: [
                "UPDATE definition SET name = ?2 WHERE name = ?1",
                """
                UPDATE graph_definition
                SET    name = ?2, body = iif(json_valid(body), json_set(body, '$.name', ?2), body)
                WHERE  name = ?1
                """,
            ])
        let schedules = HiddenNames(
            next: "SELECT name FROM schedule WHERE name > ?1 ORDER BY name",
            taken: "SELECT 1 FROM schedule WHERE name = ?1",
            changes: [
                """
                UPDATE schedule
                SET    name = ?2, body = iif(json_valid(body), json_set(body, '$.name', ?2), body)
                WHERE  name = ?1
                """
            ])
        let keys = HiddenNames(
            next: "SELECT key FROM idempotency WHERE key > ?1 ORDER BY key",
            taken: "SELECT 1 FROM idempotency WHERE key = ?1",
            changes: ["UPDATE idempotency SET key = ?2 WHERE key = ?1"])
        for names in [queues, definitions, schedules, keys] { try names.show(in: connection) }
        for texts in rows { try texts.show(in: connection) }
    }

    private static let rows: [HiddenTexts] = [
        HiddenTexts(
            next: "SELECT id, summary FROM definition WHERE id > ?1 AND summary IS NOT NULL ORDER BY id",
            change: "UPDATE definition SET summary = ?2 WHERE id = ?1"),
        HiddenTexts(
            next: """
                SELECT   id, body ->> 'summary'
                FROM     graph_definition
                WHERE    id > ?1
                AND      iif(json_valid(body), body ->> 'summary', NULL) IS NOT NULL
                ORDER BY id
                """,
            change: "UPDATE graph_definition SET body = json_set(body, '$.summary', ?2) WHERE id = ?1"),
        HiddenTexts(
            next: """
                SELECT   number, body ->> 'summary'
                FROM     (SELECT row_number() OVER (ORDER BY name) AS number, body FROM schedule)
                WHERE    number > ?1
                AND      iif(json_valid(body), body ->> 'summary', NULL) IS NOT NULL
                ORDER BY number
                """,
            change: """
                UPDATE schedule
                SET    body = json_set(body, '$.summary', ?2)
                WHERE  name = (SELECT name FROM schedule ORDER BY name LIMIT 1 OFFSET ?1 - 1)
                """),
        HiddenTexts(
            next: """
                SELECT   number, summary
                FROM     (SELECT row_number() OVER (ORDER BY name) AS number, summary FROM kind)
                WHERE    number > ?1
                ORDER BY number
                """,
            change: """
                UPDATE kind
                SET    summary = ?2
                WHERE  name = (SELECT name FROM kind ORDER BY name LIMIT 1 OFFSET ?1 - 1)
                """),
        HiddenTexts(
            next: "SELECT id, name FROM graph WHERE id > ?1 AND name IS NOT NULL ORDER BY id",
            change: "UPDATE graph SET name = ?2 WHERE id = ?1"),
        HiddenTexts(
            next: "SELECT id, node FROM job WHERE id > ?1 AND node IS NOT NULL ORDER BY id",
            change: "UPDATE job SET node = ?2 WHERE id = ?1"),
    ]
}

/// A column of unique names. A table may have very many rows, so at most 1,000 names are in memory at a time.
private struct HiddenNames {
    /// Selects the names after a given one, in order.
    let next: SQL
    let taken: SQL
    let changes: [SQL]

    func show(in connection: Connection) throws(SQLiteError) {
        let names = connection.prepare(next)
        var last = ""
        while true {
            var hidden: [String] = []
            try names.bind(1, last)
            while hidden.count < 1000, try names.step() {
                let name = names.string(0)
                if HiddenCharacter(in: name) != nil { hidden.append(name) }
            }
            names.reset()
            for name in hidden {
                let shown = try free(name.withoutHiddenCharacters, in: connection)
                for change in changes {
                    let statement = connection.prepare(change)
                    try statement.bind(1, name)
                    try statement.bind(2, shown)
                    try statement.run()
                }
            }
            guard hidden.count == 1000, let end = hidden.last else { return }
            last = end
        }
    }

    private func free(_ name: String, in connection: Connection) throws(SQLiteError) -> String {
        let statement = connection.prepare(taken)
        var free = name
        var number = 2
        while true {
            try statement.bind(1, free)
            let isTaken = try statement.step()
            statement.reset()
            if !isTaken { return free }
            // Leaves room for the number: a key has at most 255 bytes.
            var stem = name
            while stem.utf8.count > 240 { stem.removeLast() }
            free = "\(stem)-\(number)"
            number += 1
        }
    }
}

/// A text column of a table whose rows are numbered.
private struct HiddenTexts {
    /// Selects the number and the text of the rows after a given number, in order.
    let next: SQL
    let change: SQL

    func show(in connection: Connection) throws(SQLiteError) {
        let rows = connection.prepare(next)
        let update = connection.prepare(change)
        var last: Int64 = 0
        while true {
            var hidden: [(number: Int64, text: String)] = []
            rows.bind(1, last)
            while hidden.count < 1000, try rows.step() {
                let text = rows.string(1)
                if HiddenCharacter(in: text) != nil { hidden.append((rows.integer(0), text)) }
            }
            rows.reset()
            for row in hidden {
                update.bind(1, row.number)
                try update.bind(2, row.text.withoutHiddenCharacters)
                try update.run()
            }
            guard hidden.count == 1000, let end = hidden.last?.number else { return }
            last = end
        }
    }
}
