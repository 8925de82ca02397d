import CCompression

/// Decodes a `Content-Encoding` piece by piece and never produces more than a given number of bytes.
///
/// Not thread-safe: only one task may use a decoder.
package protocol ContentDecoder: AnyObject {
    /// Decodes `input` and appends the result to `output`, until `output` has `limit` bytes.
    ///
    /// - Returns: False if the stream has ended; any further bytes do not belong to it.
    func decode(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(DecompressionProblem)
        -> Bool
}

/// The bytes are not what their content coding requires, or consist of too many members.
package struct DecompressionProblem: Error {}

/// Limits the members (gzip) or frames (zstd) of one body to 1000, since each costs some work even if it is empty.
private struct MemberCount {
    private var count = 0

    mutating func next() throws(DecompressionProblem) {
        count += 1
        if count > 1000 { throw DecompressionProblem() }
    }
}

/// Decodes `gzip` and both variants of `deflate`: with the zlib header that the RFC requires, and without it.
package final class InflateDecoder: ContentDecoder {
    private let stream: UnsafeMutablePointer<z_stream>
    private var isReady = false
    private let isGzip: Bool
    /// The first byte, if it arrived alone: it takes two bytes to find out whether a deflate stream has a zlib header.
    private var first: UInt8?
    /// Whether a gzip member ended exactly at the end of the last input, so that another member may follow.
    private var isBetweenMembers = false
    private var members = MemberCount()

    package init(gzip: Bool) {
        isGzip = gzip
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isReady { inflateEnd(stream) }
        stream.deallocate()
    }

    private func start(_ input: UnsafeRawBufferPointer) throws(DecompressionProblem) {
        let hasHeader =
            isGzip || Int(input[0]) & 15 == 8 && (Int(input[0]) << 8 | Int(input[1])) % 31 == 0
        let window: Int32 = isGzip ? 15 + 16 : hasHeader ? 15 : -15
        guard inflateInit2_(stream, window, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw DecompressionProblem()
        }
        isReady = true
    }

    package func decode(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int)
        throws(DecompressionProblem)
        -> Bool
    {
        if input.isEmpty { return true }
        if !isReady, !isGzip {
            if let first {
                self.first = nil
                let both = [first] + input
                var result: Result<Bool, DecompressionProblem> = .success(false)
                both.withUnsafeBytes { both in
                    result = Result { () throws(DecompressionProblem) in
                        try start(both)
                        return try inflateAll(both, into: &output, limit: limit)
                    }
                }
                return try result.get()
            }
            if input.count == 1 {
                first = input[0]
                return true
            }
        }
        if !isReady { try start(input) }
        if isBetweenMembers {
            isBetweenMembers = false
            // Bytes that do not begin another member are ignored.
            guard input[0] == 0x1F, inflateReset(stream) == Z_OK else { return false }
        }
        return try inflateAll(input, into: &output, limit: limit)
    }

    private func inflateAll(
        _ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int
    ) throws(DecompressionProblem) -> Bool {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(input.count)
        while output.count < limit {
            let (written, status) = output.appendUninitialized(min(64 << 10, limit - output.count)) { space in
                stream.pointee.next_out = space.baseAddress
                stream.pointee.avail_out = UInt32(space.count)
                let status = inflate(stream, Z_NO_FLUSH)
                return (space.count - Int(stream.pointee.avail_out), status)
            }
            switch status {
            case Z_STREAM_END:
                // A gzip stream may have several members. All other bytes after the end are ignored.
                guard isGzip else { return false }
                try members.next()
                if stream.pointee.avail_in == 0 {
                    isBetweenMembers = true
                    return true
                }
                guard inflateReset(stream) == Z_OK else { return false }
            case Z_OK, Z_BUF_ERROR:
                if written == 0 || stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0 { return true }
            default:
                throw DecompressionProblem()
            }
        }
        return true
    }
}

package final class BrotliDecoder: ContentDecoder {
    private let state: OpaquePointer?

    package init() { state = BrotliDecoderCreateInstance(nil, nil, nil) }

    deinit { BrotliDecoderDestroyInstance(state) }

    package func decode(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int)
        throws(DecompressionProblem)
        -> Bool
    {
        guard let state else { throw DecompressionProblem() }
        var available = input.count
        var next = input.bindMemory(to: UInt8.self).baseAddress
        while output.count < limit {
            let (_, result) = output.appendUninitialized(min(64 << 10, limit - output.count)) { space in
                var free = space.count
                var target = space.baseAddress
                let result = BrotliDecoderDecompressStream(state, &available, &next, &free, &target, nil)
                return (space.count - free, result)
            }
            switch result {
            case BROTLI_DECODER_RESULT_SUCCESS: return false
            case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return true
            case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
            default: throw DecompressionProblem()
            }
        }
        return true
    }
}

package final class ZstandardDecoder: ContentDecoder {
    private let stream: OpaquePointer?
    private var frames = MemberCount()

    package init() {
        stream = ZSTD_createDCtx()
        // RFC 8878 recommends that decoders support windows of up to 8 MiB. Larger ones are refused.
        ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, 23)
    }

    deinit { ZSTD_freeDCtx(stream) }

    package func decode(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int)
        throws(DecompressionProblem)
        -> Bool
    {
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        while output.count < limit {
            let (written, status) = output.appendUninitialized(min(64 << 10, limit - output.count)) { space in
                var target = ZSTD_outBuffer(dst: space.baseAddress, size: space.count, pos: 0)
                let status = ZSTD_decompressStream(stream, &target, &source)
                return (target.pos, status)
            }
            if ZSTD_isError(status) != 0 { throw DecompressionProblem() }
            // The frame is complete; another one may follow.
            if status == 0 { try frames.next() }
            if source.pos == source.size, written < min(64 << 10, limit) { return true }
        }
        return true
    }
}

extension [UInt8] {
    /// Appends the bytes that `fill` writes into a buffer of `capacity` zeroed bytes.
    fileprivate mutating func appendUninitialized<R>(
        _ capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> (count: Int, R)
    ) -> (count: Int, R) {
        let start = count
        append(contentsOf: repeatElement(0, count: capacity))
        let answer = withUnsafeMutableBufferPointer { fill(UnsafeMutableBufferPointer(rebasing: $0[start...])) }
        removeLast(capacity - answer.count)
        return answer
    }
}
