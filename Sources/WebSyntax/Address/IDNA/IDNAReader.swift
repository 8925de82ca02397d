/// Decodes the numbers in ``IDNATables``.
struct IDNAReader {
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0, count: 128)
        for (value, digit) in IDNATables.digits.utf8.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    private var rest: Substring.UTF8View

    init(_ table: String) { rest = table[...].utf8 }

    mutating func next() -> Int? {
        var number = 0
        var shift = 0
        while let digit = rest.popFirst() {
            let value = Int(Self.values[Int(digit)])
            number |= (value & 31) << shift
            if value < 32 { return number }
            shift += 5
        }
        return nil
    }
}

/// A property of code points, stored as runs of code points with the same value.
struct IDNARuns<Value: Sendable>: Sendable {
    private var starts: [UInt32] = []
    private var values: [Value] = []

    mutating func append(_ count: Int, _ value: Value, at start: inout UInt32) {
        starts.append(start)
        values.append(value)
        start += UInt32(count)
    }

    subscript(scalar: Unicode.Scalar) -> Value {
        // Binary search for the last run that begins at or before the scalar.
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= scalar.value { low = middle } else { high = middle }
        }
        return values[low]
    }
}

enum IDNAStatus {
    case valid
    case ignored
    case disallowed
    /// The code point is mapped to the code point at this distance from it.
    case shifted(Int)
    case mapped([Unicode.Scalar])

    static let table: IDNARuns<IDNAStatus> = {
        var runs = IDNARuns<IDNAStatus>()
        var reader = IDNAReader(IDNATables.mapping)
        var start: UInt32 = 0
        while let count = reader.next(), let code = reader.next() {
            let status: IDNAStatus
            switch code {
            case 0: status = .valid
            case 1: status = .ignored
            case 2: status = .disallowed
            case 3:
                let distance = reader.next() ?? 0
                status = .shifted(distance & 1 == 0 ? distance >> 1 : -(distance + 1) >> 1)
            default:
                status = .mapped((0..<(code - 2)).compactMap { _ in reader.next().flatMap { Unicode.Scalar($0) } })
            }
            runs.append(count, status, at: &start)
        }
        return runs
    }()
}

/// Classes of the bidirectional algorithm that matter for domain names.
enum BidirectionalClass: Int {
    case other, l, r, al, an, en, es, cs, et, on, bn, nsm

    static let table: IDNARuns<BidirectionalClass> = readRuns(IDNATables.bidirectional, else: .other)
}

enum JoiningType: Int {
    case none, l, r, d, t

    static let table: IDNARuns<JoiningType> = readRuns(IDNATables.joining, else: .none)
}

private func readRuns<Value: RawRepresentable<Int> & Sendable>(_ table: String, else other: Value) -> IDNARuns<Value> {
    var runs = IDNARuns<Value>()
    var reader = IDNAReader(table)
    var start: UInt32 = 0
    while let count = reader.next(), let value = reader.next() {
        runs.append(count, Value(rawValue: value) ?? other, at: &start)
    }
    return runs
}
