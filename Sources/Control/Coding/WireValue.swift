import Jobs

/// A value as it stands in JSON on the control socket and in `--json`: snake_case names, times as ISO 8601 in UTC,
/// durations as whole milliseconds, choices by name, numbers of jobs as numbers. A field without a value is left out.
///
/// Payloads are carried as the bytes they are.
public protocol WireValue {
    init(json: JSONText) throws(ShapeProblem)
    /// Appends the value's JSON to `bytes`.
    func appendJSON(to bytes: inout [UInt8])
}

extension WireValue {
    public var json: JSONText {
        var bytes: [UInt8] = []
        appendJSON(to: &bytes)
        return JSONText(trusted: bytes)
    }
}

/// A wire value that is a JSON object.
protocol WireObjectValue: WireValue {
    init(fields: WireFields) throws(ShapeProblem)
    func write(to object: inout WireObject)
}

extension WireObjectValue {
    public init(json: JSONText) throws(ShapeProblem) { try self.init(fields: WireFields(json)) }

    public func appendJSON(to bytes: inout [UInt8]) {
        var object = WireObject()
        write(to: &object)
        object.append(to: &bytes)
    }
}
