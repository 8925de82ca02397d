import Jobs

/// A value that is encoded as JSON on the control socket and with `--json`.
///
/// Names are in snake_case, times in ISO 8601 and UTC, durations in whole milliseconds, choices by name, and
/// job numbers as numbers. A field without a value is omitted. Payloads keep their bytes unchanged.
public protocol WireValue {
    /// Parses the value.
    ///
    /// - Throws: `ShapeProblem` with the path of the first field that does not fit.
    init(json: JSONText) throws(ShapeProblem)
    /// Appends the value's JSON to `bytes`.
    func appendJSON(to bytes: inout [UInt8])
}

extension WireValue {
    /// The value as JSON.
    public var json: JSONText {
        var bytes: [UInt8] = []
        appendJSON(to: &bytes)
        return JSONText(trusted: bytes)
    }
}

/// A wire value that is encoded as a JSON object.
protocol WireObjectValue: WireValue {
    init(fields: WireFields) throws(ShapeProblem)
    func write(to object: inout WireObject)
}

extension WireObjectValue {
    public init(json: JSONText) throws(ShapeProblem) { try self.init(fields: WireFields(json)) }
    public func appendJSON(to bytes: inout [UInt8]) { WireObject.append(to: &bytes, write) }
}
