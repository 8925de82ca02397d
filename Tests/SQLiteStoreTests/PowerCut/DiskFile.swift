@testable import JobStoreContract

/// Which unsynced pages are on the disk after a power cut.
enum Survival: String, CaseIterable { case none, all, some, sectors }

/// One file in memory and on the disk, following the rules of Tests/PowerCut/disk.c.
struct DiskFile {
    private static let page = 4096

    private var cached: [UInt8] = []
    private(set) var durable: [UInt8] = []
    /// The dirty pages, with their contents after every write since the last sync, since the kernel may write a page at
    /// any time.
    private var dirty: [Int: [[UInt8]]] = [:]
    private var unwritten: Set<Int> = []
    private var allocated: Set<Int> = []
    /// The contents of the disk before a truncation that is not synced yet.
    private var beforeTruncation: [UInt8]?
    private(set) var isMissing = true

    mutating func apply(_ step: Recording.Step) {
        isMissing = false
        switch step {
        case .write(let offset, let bytes): write(offset, bytes)
        case .truncate(let size): truncate(size)
        case .sync: sync(failing: nil)
        case .failedSync(let reached): sync(failing: Set(reached))
        case .evict(let pages): for number in pages ?? Array(0..<pageCount) { evict(number) }
        case .remove: self = DiskFile()
        case .link, .acknowledge, .checkpoint: break
        }
    }

    private var pageCount: Int { (cached.count + Self.page - 1) / Self.page }

    private func page(_ number: Int, of bytes: [UInt8]) -> [UInt8] {
        let start = min(number * Self.page, bytes.count)
        let page = bytes[start..<min(start + Self.page, bytes.count)]
        return page + [UInt8](repeating: 0, count: Self.page - page.count)
    }

    private static func put(_ page: [UInt8], _ number: Int, into bytes: inout [UInt8]) {
        let start = number * Self.page
        if bytes.count < start + page.count {
            bytes += [UInt8](repeating: 0, count: start + page.count - bytes.count)
        }
        bytes.replaceSubrange(start..<start + page.count, with: page)
    }

    private static func resize(_ bytes: inout [UInt8], to size: Int) {
        if bytes.count > size {
            bytes.removeLast(bytes.count - size)
        } else {
            bytes += [UInt8](repeating: 0, count: size - bytes.count)
        }
    }

    private mutating func write(_ offset: Int, _ bytes: ArraySlice<UInt8>) {
        let end = offset + bytes.count
        if cached.count < end { Self.resize(&cached, to: end) }
        cached.replaceSubrange(offset..<end, with: bytes)
        for number in offset / Self.page...(end - 1) / Self.page {
            dirty[number, default: []].append(page(number, of: cached))
        }
    }

    private mutating func truncate(_ size: Int) {
        if beforeTruncation == nil { beforeTruncation = durable }
        Self.resize(&cached, to: size)
        Self.resize(&durable, to: size)
        let first = (size + Self.page - 1) / Self.page
        dirty = dirty.filter { $0.key < first }
        unwritten = unwritten.filter { $0 < first }
        allocated = allocated.filter { $0 < first }
    }

    private mutating func sync(failing reached: Set<Int>?) {
        for number in dirty.keys.sorted() {
            if let reached, !reached.contains(number) {
                if !allocated.contains(number) { unwritten.insert(number) }
                continue
            }
            if unwritten.contains(number) { continue }
            allocated.insert(number)
            Self.put(page(number, of: cached), number, into: &durable)
        }
        dirty = [:]
        beforeTruncation = nil
        Self.resize(&durable, to: cached.count)
    }

    private mutating func evict(_ number: Int) {
        if dirty[number] != nil { return }
        unwritten.remove(number)
        let bytes = page(number, of: durable)
        let start = number * Self.page
        let end = min(start + Self.page, cached.count)
        if start < end { cached.replaceSubrange(start..<end, with: bytes[..<(end - start)]) }
    }

    func afterCut(_ survival: Survival, using random: inout SplitMix64) -> [UInt8] {
        var bytes = durable
        if let beforeTruncation, survival != .all, Bool.random(using: &random) { bytes = beforeTruncation }
        if survival == .none { return bytes }
        for (number, versions) in dirty.sorted(by: { $0.key < $1.key }) where !unwritten.contains(number) {
            let version: [UInt8]
            switch survival {
            case .all: version = versions[versions.count - 1]
            default:
                guard Bool.random(using: &random), let drawn = versions.randomElement(using: &random) else { continue }
                version = drawn
            }
            guard survival == .sectors else {
                Self.put(version, number, into: &bytes)
                continue
            }
            var torn = page(number, of: bytes)
            for start in stride(from: 0, to: Self.page, by: 512) where Bool.random(using: &random) {
                torn.replaceSubrange(start..<start + 512, with: version[start..<start + 512])
            }
            Self.put(torn, number, into: &bytes)
        }
        // The file grows with its pages, but never beyond the bytes written.
        if bytes.count > cached.count, beforeTruncation == nil { Self.resize(&bytes, to: cached.count) }
        return bytes
    }
}
