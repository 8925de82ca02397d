import Jobs

/// Encoded as its own bytes, unchanged.
extension JSONText: WireValue {
    public init(json: JSONText) throws(ShapeProblem) { self = json }
    public func write(to writer: inout JSONWriter) { writer.value(bytes) }
}

extension String: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let string = json.decodedString else { throw ShapeProblem("expected a string") }
        self = string
    }

    public func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let bool = json.boolean else { throw ShapeProblem("expected true or false") }
        self = bool
    }

    public func write(to writer: inout JSONWriter) { writer.value((self ? "true" : "false").utf8) }
}

extension WireValue where Self: FixedWidthInteger {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let number = json.integer else { throw ShapeProblem("expected a whole number") }
        guard let number = Self(exactly: number) else { throw ShapeProblem("the number is too large") }
        self = number
    }

    public func write(to writer: inout JSONWriter) { writer.value(String(self).utf8) }
}

extension Int: WireValue {}
extension Int32: WireValue {}
extension Int64: WireValue {}

/// Encoded as an array of the first and the last number.
extension ClosedRange: WireValue where Bound == Int64 {
    public init(json: JSONText) throws(ShapeProblem) {
        let ends = try [Int64](json: json)
        guard ends.count == 2, ends[0] <= ends[1] else {
            throw ShapeProblem("expected two numbers, the first and the last")
        }
        self = ends[0]...ends[1]
    }

    public func write(to writer: inout JSONWriter) { [lowerBound, upperBound].write(to: &writer) }
}

extension Double: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let number = json.double, number.isFinite else { throw ShapeProblem("expected a number") }
        self = number
    }

    /// JSON has no infinities; they become null.
    public func write(to writer: inout JSONWriter) { writer.value((isFinite ? description : "null").utf8) }
}

extension Timestamp: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let string = json.decodedString, let timestamp = Timestamp(iso8601: string) else {
            throw ShapeProblem("expected a time as \"2024-05-01T12:30:00.000Z\"")
        }
        self = timestamp
    }

    public func write(to writer: inout JSONWriter) { iso8601.write(to: &writer) }
}

/// Encoded as a whole number of milliseconds.
extension Duration: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let number = json.integer, number >= 0 else {
            throw ShapeProblem("expected a whole number of milliseconds, 0 or more")
        }
        self = .milliseconds(number)
    }

    public func write(to writer: inout JSONWriter) { milliseconds.write(to: &writer) }
}

extension JobID: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let number = json.integer, number > 0 else { throw ShapeProblem("expected the number of a job") }
        self.init(number)
    }

    public func write(to writer: inout JSONWriter) { rawValue.write(to: &writer) }
}

extension GraphID: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let number = json.integer, number > 0 else { throw ShapeProblem("expected the number of a graph") }
        self.init(number)
    }

    public func write(to writer: inout JSONWriter) { rawValue.write(to: &writer) }
}

extension Array: WireValue where Element: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        guard let elements = json.elements else { throw ShapeProblem("expected an array in brackets") }
        self = []
        reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do {
                append(try Element(json: element))
            } catch {
                throw error.inside("\(index)")
            }
        }
    }

    public func write(to writer: inout JSONWriter) { writer.array(self) { $0.write(to: &$1) } }
}
