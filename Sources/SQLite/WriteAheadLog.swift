import CSQLite

extension Connection {
    /// Extends the WAL file with zeros to at least `bytes` bytes and syncs it. Commits then overwrite the file instead
    /// of growing it, which would make them 2 to 15 times slower.
    ///
    /// Call this only on the connection that writes, outside a transaction. SQLite ignores zeros after the last frame,
    /// so the contents of the database do not change.
    ///
    /// - Throws: ``SQLiteError`` if the file cannot be written or synced.
    public func growWAL(to bytes: Int64) throws(SQLiteError) {
        guard let file = halyard_sqlite3_journal(handle), let methods = file.pointee.pMethods else { return }
        var size: Int64 = 0
        try check(methods.pointee.xFileSize(file, &size))
        guard size < bytes else { return }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        while size < bytes {
            let count = Int32(min(Int64(zeros.count), bytes - size))
            let code = zeros.withUnsafeBytes { methods.pointee.xWrite(file, $0.baseAddress, count, size) }
            guard code == SQLITE_OK else { throw SQLiteError(code: code, message: "cannot grow the WAL") }
            size += Int64(count)
        }
        let code = methods.pointee.xSync(file, SQLITE_SYNC_NORMAL)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, message: "cannot sync the WAL") }
    }

    /// Keeps the WAL and its index when the last connection closes. The close still copies the WAL into the database. A
    /// process that may only read the database cannot create these two files, and could not open the database without
    /// them.
    ///
    /// - Throws: ``SQLiteError`` if SQLite does not support the setting.
    public func leaveWALFilesOnClose() throws(SQLiteError) {
        var isOn: Int32 = 1
        let code = sqlite3_file_control(handle, nil, SQLITE_FCNTL_PERSIST_WAL, &isOn)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, message: "the WAL would not stay") }
    }
}
