import SQLite

/// The statements for listings. Each walks one index and returns for every job whether the filter selects it, so that a
/// walk can end after a bounded number of rows, even if the filter selects few of them.
///
/// All statements take the same parameters: 1 queue, 2 definition, 3 kind, 4 and 5 the exclusive bounds of the job
/// number, 6 the states as bits, 7 the graph or the state.
struct ListingStatements: ~Copyable {
    static let allNewestSQL: SQL = """
        SELECT   id,
                 (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
                 AND (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
                 AND (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
                 AND (?6 >> state) & 1
        FROM     job NOT INDEXED
        WHERE    id < ?4
        AND      id > ?5
        ORDER BY id DESC
        """
    static let allOldestSQL: SQL = """
        SELECT   id,
                 (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
                 AND (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
                 AND (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
                 AND (?6 >> state) & 1
        FROM     job NOT INDEXED
        WHERE    id < ?4
        AND      id > ?5
        ORDER BY id
        """
    static let graphNewestSQL: SQL = """
        SELECT   id,
                 (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
                 AND (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
                 AND (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
                 AND (?6 >> state) & 1
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = ?7
        AND      id < ?4
        AND      id > ?5
        ORDER BY id DESC
        """
    static let graphOldestSQL: SQL = """
        SELECT   id,
                 (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
                 AND (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
                 AND (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
                 AND (?6 >> state) & 1
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = ?7
        AND      id < ?4
        AND      id > ?5
        ORDER BY id
        """
    static let openNewestSQL: SQL = """
        SELECT   id,
                 (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
                 AND (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
                 AND (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        FROM     job INDEXED BY job_open
        WHERE    state < 4
        AND      state = ?7
        AND      id < ?4
        AND      id > ?5
        ORDER BY id DESC
        """
    static let openOldestSQL: SQL = """
        SELECT   id,
                 (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
                 AND (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
                 AND (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        FROM     job INDEXED BY job_open
        WHERE    state < 4
        AND      state = ?7
        AND      id < ?4
        AND      id > ?5
        ORDER BY id
        """
    static let unsuccessfulNewestSQL: SQL = """
        SELECT   id,
                 (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
                 AND (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
                 AND (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        FROM     job INDEXED BY job_unsuccessful
        WHERE    state >= 5
        AND      state = ?7
        AND      id < ?4
        AND      id > ?5
        ORDER BY id DESC
        """
    static let unsuccessfulOldestSQL: SQL = """
        SELECT   id,
                 (?1 IS NULL OR queue_id = (SELECT id FROM queue WHERE name = ?1))
                 AND (?2 IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = ?2))
                 AND (?3 IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = ?3))
        FROM     job INDEXED BY job_unsuccessful
        WHERE    state >= 5
        AND      state = ?7
        AND      id < ?4
        AND      id > ?5
        ORDER BY id
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
