import Glibc

extension SQLiteJobStore {
    /// Checks whether a file is a Halyard database. Reads only the file's header.
    ///
    /// - Throws: ``StoreOpenError``, such as `notADatabase` for another kind of file, or `foreignDatabase` for the
    ///   database of another program.
    public static func checkHeader(ofDatabaseAt path: String) throws(StoreOpenError) {
        let id = try applicationID(ofDatabaseAt: path)
        guard [Migration.applicationID, Migration.movedID, Migration.unfinishedID].contains(id) else {
            throw .foreignDatabase(path: path, applicationID: id)
        }
    }

    /// The application id in the header of an SQLite file.
    static func applicationID(ofDatabaseAt path: String) throws(StoreOpenError) -> Int64 {
        let descriptor = try openFile(path, O_RDONLY)
        defer { Glibc.close(descriptor) }
        let status = try status(of: descriptor, path)
        guard status.isRegularFile else { throw .notARegularFile(path: path) }
        if status.st_size == 0 { throw .emptyFile(path: path) }
        var header = [UInt8](repeating: 0, count: 100)
        for isSecondLook in [false, true] {
            let count = pread(descriptor, &header, header.count, 0)
            guard count >= 0 else { throw .system(operation: "read", path: path, code: errno) }
            if count == header.count, header.starts(with: Array("SQLite format 3\0".utf8)) { break }
            if isSecondLook { throw .notADatabase(path: path) }
            // Drops the cached page, so that the second read comes from the disk.
            _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        }
        return header[68..<72].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }
}
