import Jobs
import SQLite

extension Connection {
    /// Sets the options that durability and safety depend on, and asserts that they took effect (P1).
    func configure(path: String, isWriter: Bool, options: StoreOptions) throws(StoreOpenError) {
        try mappingErrors(at: path) { () throws(SQLiteError) in
            setLengthLimit(bytes: 16 << 20)
            try enable(.defensive)
            try enable(.untrustedSchema)
            try enable(.foreignKeys)
            if isWriter {
                checkpointByHand()
                try leaveWALFilesOnClose()
                _ = try text("PRAGMA journal_mode = WAL")
                // With this limit, a log that grew during a long read shrinks when SQLite restarts it, and an orderly
                // close leaves the log empty. So the log cannot be replayed into a backup that replaces the database.
                try execute("PRAGMA journal_size_limit = \(options.walBytes)")
                // Debian's SQLite overwrites deleted content by default. Nothing here depends on that, and it costs
                // extra writes.
                _ = try integer("PRAGMA secure_delete = OFF")
            } else {
                try enable(.keepsWALOnClose)
                try execute("PRAGMA query_only = ON")
            }
            try execute("PRAGMA synchronous = FULL")
            try execute("PRAGMA temp_store = MEMORY")
            try execute("PRAGMA cache_size = -8000")
        }
        try assert("PRAGMA journal_mode", is: "wal", path)
        try assert("PRAGMA synchronous", is: "2", path)
        try assert("PRAGMA foreign_keys", is: "1", path)
        try assert("PRAGMA trusted_schema", is: "0", path)
        try assert("PRAGMA busy_timeout", is: "\(options.busyTimeout.milliseconds)", path)
    }

    func assert(_ setting: SQL, is expected: String, _ path: String) throws(StoreOpenError) {
        let found = try mappingErrors(at: path) { () throws(SQLiteError) in
            let found = try text(setting)
            // SQLite silently keeps the old mode if it could not read the file.
            if found != expected, let readFailure { throw readFailure }
            return found
        }
        guard found == expected else {
            throw .settingRefused(path: path, setting: "\(setting) = \(expected)", found: found ?? "nothing")
        }
    }
}

extension StoreOpenError {
    init(_ error: SQLiteError, path: String) {
        switch error.primary {
        case .notADatabase: self = .notADatabase(path: path)
        case .corrupt: self = .damaged(path: path, message: error.message)
        case .busy, .locked: self = .busy(path: path)
        case .readOnly: self = .readOnlyFile(path: path)
        case .permission, .authorization: self = .unreadableFile(path: path)
        case .full: self = .diskFull(path: path, freeBytes: 0, neededBytes: 1 << 20)
        default: self = .sqlite(path: path, code: error.code, message: error.message)
        }
    }
}
