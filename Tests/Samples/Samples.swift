import Foundation

/// Bytes without a pattern, the same for the same seed.
package func randomBytes(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SplitMix(seed: seed)
    return [UInt8](unsafeUninitializedCapacity: count + 8) { space, filled in
        let raw = UnsafeMutableRawBufferPointer(space)
        for offset in stride(from: 0, to: count, by: 8) {
            raw.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
        filled = count
    }
}

/// A folder of its own, removed afterwards.
package func withFolder<T>(_ body: (String) async throws -> T) async throws -> T {
    let path = FileManager.default.temporaryDirectory.path + "/halyard-kinds-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer {
        // Left behind in the temporary folder, it does no harm.
        try? FileManager.default.removeItem(atPath: path)
    }
    return try await body(path)
}
