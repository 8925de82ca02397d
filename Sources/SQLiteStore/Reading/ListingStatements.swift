import SQLite

/// Parameters of all: 1 queue, 2 definition, 3 kind, 4 and 5 the numbers between, 6 the states as bits, 7 the limit, 8 the
/// graph or the state.
struct ListingStatements: ~Copyable {
    static let allNewestSQL: StaticString = """
        SELECT   id
        FROM     job NOT INDEXED
        WHERE    id < ?4
        AND      id > ?5
        AND      (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
        AND      (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
        AND      (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        AND      (?6 >> state) & 1
        ORDER BY id DESC
        LIMIT    ?7
        """
    static let allOldestSQL: StaticString = """
        SELECT   id
        FROM     job NOT INDEXED
        WHERE    id < ?4
        AND      id > ?5
        AND      (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
        AND      (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
        AND      (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        AND      (?6 >> state) & 1
        ORDER BY id
        LIMIT    ?7
        """
    static let graphNewestSQL: StaticString = """
        SELECT   id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = ?8
        AND      id < ?4
        AND      id > ?5
        AND      (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
        AND      (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
        AND      (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        AND      (?6 >> state) & 1
        ORDER BY id DESC
        LIMIT    ?7
        """
    static let graphOldestSQL: StaticString = """
        SELECT   id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = ?8
        AND      id < ?4
        AND      id > ?5
        AND      (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
        AND      (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
        AND      (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        AND      (?6 >> state) & 1
        ORDER BY id
        LIMIT    ?7
        """
    static let openNewestSQL: StaticString = """
        SELECT   id
        FROM     job INDEXED BY job_open
        WHERE    state < 4
        AND      state = ?8
        AND      id < ?4
        AND      id > ?5
        AND      (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
        AND      (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
        AND      (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        ORDER BY id DESC
        LIMIT    ?7
        """
    static let openOldestSQL: StaticString = """
        SELECT   id
        FROM     job INDEXED BY job_open
        WHERE    state < 4
        AND      state = ?8
        AND      id < ?4
        AND      id > ?5
        AND      (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
        AND      (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
        AND      (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        ORDER BY id
        LIMIT    ?7
        """
    static let unsuccessfulNewestSQL: StaticString = """
        SELECT   id
        FROM     job INDEXED BY job_unsuccessful
        WHERE    state >= 5
        AND      state = ?8
        AND      id < ?4
        AND      id > ?5
        AND      (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
        AND      (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
        AND      (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        ORDER BY id DESC
        LIMIT    ?7
        """
    static let unsuccessfulOldestSQL: StaticString = """
        SELECT   id
        FROM     job INDEXED BY job_unsuccessful
        WHERE    state >= 5
        AND      state = ?8
        AND      id < ?4
        AND      id > ?5
        AND      (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
        AND      (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
        AND      (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        ORDER BY id
        LIMIT    ?7
        """

    let allNewest: Statement
    let allOldest: Statement
    let graphNewest: Statement
    let graphOldest: Statement
    let openNewest: Statement
    let openOldest: Statement
    let unsuccessfulNewest: Statement
    let unsuccessfulOldest: Statement

    init(_ connection: Connection) {
        allNewest = connection.prepare(Self.allNewestSQL)
        allOldest = connection.prepare(Self.allOldestSQL)
        graphNewest = connection.prepare(Self.graphNewestSQL)
        graphOldest = connection.prepare(Self.graphOldestSQL)
        openNewest = connection.prepare(Self.openNewestSQL)
        openOldest = connection.prepare(Self.openOldestSQL)
        unsuccessfulNewest = connection.prepare(Self.unsuccessfulNewestSQL)
        unsuccessfulOldest = connection.prepare(Self.unsuccessfulOldestSQL)
    }
}
