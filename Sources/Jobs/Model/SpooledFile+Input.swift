#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension SpooledFile {
    /// Returns the spool's files that the fields of an input name.
    package static func files(in input: JSONText?) -> [SpoolName] {
        // Most inputs name no file, and this search avoids parsing them.
        guard let input, input.bytes.contains(mark), let object = JSONObject(input) else { return [] }
        return object.fields.compactMap { $0.value.decodedString.flatMap(SpooledFile.init)?.name }
    }

    private static let mark = Array("\"\(prefix)".utf8)
}

extension NewJob {
    /// The identity of the only daemon that can run the job, since it keeps a file that the input names; nil if every
    /// daemon can.
    package var home: String? { SpooledFile.files(in: input).lazy.compactMap(\.home).first }
}

extension [UInt8] {
    /// Searches for the last byte of the part at the speed of `memchr`, since this runs for every accepted job.
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        withUnsafeBytes { all in
            part.withUnsafeBytes { part in
                guard let start = all.baseAddress, let first = part.baseAddress, let last = part.last else {
                    return false
                }
                var from = part.count - 1
                while from < all.count, let found = memchr(start + from, CInt(last), all.count - from) {
                    let end = start.distance(to: found)
                    if memcmp(start + (end - part.count + 1), first, part.count) == 0 { return true }
                    from = end + 1
                }
                return false
            }
        }
    }
}
