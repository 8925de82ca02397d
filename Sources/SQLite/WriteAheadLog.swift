import CSQLite

extension Connection {
    /// Makes the WAL file at least `bytes` long with zeros and syncs it, so that commits overwrite and need not grow it:
    /// growing costs a commit 2 to 15 times its time.
    ///
    /// Only for the one connection that writes, outside a transaction. Zeros after the last frame are no frame, so
    /// what the database holds does not change.
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

    /// Closing copies the WAL into the database as ever, but leaves it and its index in place: who may only read can make
    /// neither, and could not open the database without them.
    public func leaveWALFilesOnClose() throws(SQLiteError) {
        var isOn: Int32 = 1
        let code = sqlite3_file_control(handle, nil, SQLITE_FCNTL_PERSIST_WAL, &isOn)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, message: "the WAL would not stay") }
    }
}
