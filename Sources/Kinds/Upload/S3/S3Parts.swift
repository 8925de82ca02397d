import Web

/// Decides which part of a multipart upload is read or sent next, and records the stored parts.
///
/// - P1: At most ``atOnce`` parts are being sent. One more part is read meanwhile.
/// - P2: A part is recorded after the server has confirmed it.
/// - P3: The checkpoint's digest covers the parts up to the first one that the server lacks. The source is read again
///   after that point, and a part whose content has changed ends the upload.
struct S3Parts: Sendable {
    /// A part whose content was read.
    struct Part: Sendable, Equatable {
        var number: Int
        var range: Range<Int64>
        var sha256: [UInt8]
    }

    static let maxCount: Int64 = 10_000

    /// Returns the size of a part, which is at least `least` bytes. It is larger if the object would otherwise have
    /// more parts than S3 accepts. It is also larger, up to `chunk` bytes, if the object would have more than a
    /// thousand parts: the checkpoint lists all parts, and is rewritten at the end of each part.
    static func partBytes(for size: Int64, atLeast least: Int64, chunk: Int64) -> Int64 {
        max(least, (size + maxCount - 1) / maxCount, min((size + 999) / 1000, chunk))
    }

    private let size: Int64
    private let partBytes: Int64
    private let atOnce: Int
    private(set) var checkpoint: Checkpoint
    /// The digest of the source up to the last part that was read.
    private(set) var digest: RunningDigest
    /// The digest at the end of each part that was read and that the server may not have yet, by the part's number.
    private var digests: [Int: RunningDigest] = [:]
    private var nextNumber: Int
    /// The part that is sent next.
    private var waiting: Part?
    private var sending = 0

    /// - Parameter checkpoint: The upload, with the parts that the server has.
    init(_ checkpoint: Checkpoint, of plan: UploadPlan) {
        size = plan.size
        let partBytes = checkpoint.partBytes ?? plan.partBytes
        // Together, the parts in progress are at most as large as one chunk, since an interruption may force all of
        // them to be sent again.
        atOnce = Int(max(1, min(4, plan.chunkBytes / partBytes)))
        self.partBytes = partBytes
        self.checkpoint = checkpoint
        let known = checkpoint.digest.flatMap {
            Self.isOfWholeParts($0, in: checkpoint, partBytes, plan.size) ? $0 : nil
        }
        self.checkpoint.digest = known
        digest = known ?? RunningDigest()
        nextNumber = Int((digest.count + partBytes - 1) / partBytes) + 1
    }

    /// Whether the digest ends with a part, and the server has every part up to there.
    private static func isOfWholeParts(
        _ digest: RunningDigest, in checkpoint: Checkpoint, _ partBytes: Int64, _ size: Int64
    ) -> Bool {
        guard digest.count <= size, digest.count == size || digest.count % partBytes == 0 else { return false }
        let numbers = Set(checkpoint.parts.map(\.number))
        return (0..<(digest.count + partBytes - 1) / partBytes).allSatisfy { numbers.contains(Int($0) + 1) }
    }

    /// Whether the whole source was read, and the server has every part.
    var isComplete: Bool { digest.count == size && waiting == nil && sending == 0 }

    /// Takes the part to send now; nil if there is none, or if enough parts are being sent (P1).
    mutating func takeNext() -> Part? {
        guard sending < atOnce, let part = waiting.take() else { return nil }
        sending += 1
        return part
    }

    /// The range of the part to read now; nil if a part that was read waits, or if everything was read.
    var nextRead: SourceRead? {
        guard waiting == nil, digest.count < size else { return nil }
        return SourceRead(
            range: digest.count..<min(digest.count + partBytes, size), algorithm: .sha256, digest: digest)
    }

    /// Continues with the part that was read.
    ///
    /// - Throws: `source_changed` if the server has a part with another content.
    mutating func read(_ digests: SourceDigests) throws(KindFailure) {
        guard let whole = digests.whole else { return }
        let part = Part(number: nextNumber, range: digest.count..<whole.count, sha256: digests.range)
        digest = whole
        self.digests[nextNumber] = whole
        nextNumber += 1
        guard let done = checkpoint.parts.first(where: { $0.number == part.number }) else { return waiting = part }
        guard done.sha256 == part.sha256.hexadecimal else {
            throw KindFailure(
                .sourceChanged,
                "the file is no longer the one whose first parts were uploaded; enqueue the upload as a new job.")
        }
        advanceDigest()
    }

    /// Records a part that the server has stored (P2).
    mutating func stored(_ part: Checkpoint.Part) {
        sending -= 1
        checkpoint.parts.removeAll { $0.number == part.number }
        checkpoint.parts.insert(
            part, at: checkpoint.parts.firstIndex { $0.number > part.number } ?? checkpoint.parts.endIndex)
        checkpoint.offset = checkpoint.parts.reduce(0) { $0 + $1.bytes }
        advanceDigest()
    }

    /// Advances the checkpoint's digest over the parts that follow it without a gap (P3).
    private mutating func advanceDigest() {
        var number = Int((checkpoint.digest?.count ?? 0) / partBytes) + 1
        while let next = digests[number], checkpoint.parts.contains(where: { $0.number == number }) {
            checkpoint.digest = next
            digests[number] = nil
            number += 1
        }
    }
}
