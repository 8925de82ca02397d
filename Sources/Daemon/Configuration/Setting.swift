import Jobs

/// One key of the configuration: how its text becomes a value.
struct Setting: Sendable {
    enum Text: Sendable, Hashable {
        case scalar(String)
        case list([String])
    }

    /// Why a text is not valid for a setting.
    struct Problem: Error {
        /// Each reason ends with what to write instead. `entry` is an index in a list; nil if the problem concerns the
        /// whole value.
        var reasons: [(entry: Int?, text: String)]

        init(_ reason: String) { reasons = [(nil, reason)] }

        init(entries: [(entry: Int?, text: String)]) { reasons = entries }
    }

    typealias Apply = @Sendable (Text, inout DaemonConfiguration) throws(Problem) -> Void

    /// The key with its groups, such as `upload.roots`.
    var key: String
    var isList = false
    /// Whether a reload applies a new value. Otherwise the daemon must be restarted.
    var isLive = false
    var isSame: @Sendable (DaemonConfiguration, DaemonConfiguration) -> Bool
    var apply: Apply

    func live() -> Setting {
        var setting = self
        setting.isLive = true
        return setting
    }

    var variable: String {
        "HALYARD_" + key.map { $0 == "." ? "_" : $0.uppercased() }.joined()
    }
}

extension DaemonConfiguration: Equatable {
    /// Whether all settings have the same values.
    public static func == (a: DaemonConfiguration, b: DaemonConfiguration) -> Bool {
        Setting.all.allSatisfy { $0.isSame(a, b) }
    }
}

/// The ways to read a value. A problem says what was found and what to write instead.
extension Setting {
    typealias Path<Value> = any WritableKeyPath<DaemonConfiguration, Value> & Sendable
    /// Returns nil for a text that is not valid.
    typealias Parse<Value> = @Sendable (String) -> Value?

    /// A single value. For values that need several messages.
    static func one<Value: Sendable & Equatable>(
        _ key: String, _ path: Path<Value>, _ read: @escaping @Sendable (String) throws(Problem) -> Value
    ) -> Setting {
        let apply: Apply = { text, configuration throws(Problem) in
            guard case .scalar(let text) = text else { throw Problem("takes one value, not a list") }
            configuration[keyPath: path] = try read(text)
        }
        return Setting(key: key, isSame: { $0[keyPath: path] == $1[keyPath: path] }, apply: apply)
    }

    /// A single value.
    ///
    /// - Parameter valid: What to write, such as `one of yes, no`.
    static func one<Value: Sendable & Equatable>(
        _ key: String, _ path: Path<Value>, valid: String, _ parse: @escaping Parse<Value>
    ) -> Setting {
        one(key, path) { text throws(Problem) in
            guard let value = parse(text) else { throw Problem("is \"\(text)\"; write \(valid)") }
            return value
        }
    }

    /// A single value; an empty text means none.
    ///
    /// - Parameter valid: What to write, and what an empty text means.
    static func optional<Value: Sendable & Equatable>(
        _ key: String, _ path: Path<Value?>, valid: String, _ parse: @escaping Parse<Value>
    ) -> Setting {
        one(key, path) { text throws(Problem) in
            if text.isEmpty { return nil }
            guard let value = parse(text) else { throw Problem("is \"\(text)\"; write \(valid)") }
            return value
        }
    }

    /// A list of values.
    ///
    /// - Parameters:
    ///   - valid: What to write.
    ///   - parse: Parses one entry.
    static func many<Element, Value: RangeReplaceableCollection & Sendable & Equatable>(
        _ key: String, _ path: Path<Value>, valid: String, _ parse: @escaping Parse<Element>
    ) -> Setting where Value.Element == Element {
        let apply: Apply = { text, configuration throws(Problem) in
            guard case .list(let texts) = text else { throw Problem("takes a list; write [a, b] or []") }
            let values = texts.map(parse)
            let refused = zip(texts.indices, values).filter { $1 == nil }.map { entry, _ in
                (entry: Int?.some(entry), text: "contains \"\(texts[entry])\"; write \(valid)")
            }
            guard refused.isEmpty else { throw Problem(entries: refused) }
            configuration[keyPath: path] = Value(values.compactMap(\.self))
        }
        return Setting(key: key, isList: true, isSame: { $0[keyPath: path] == $1[keyPath: path] }, apply: apply)
    }

    static func integer(_ key: String, _ path: Path<Int>, _ range: ClosedRange<Int>) -> Setting {
        one(key, path, valid: "a whole number from \(range.lowerBound) to \(range.upperBound)") {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    static func duration(_ key: String, _ path: Path<Duration>, _ range: ClosedRange<Duration>) -> Setting {
        let limits = range.lowerBound.milliseconds...range.upperBound.milliseconds
        return one(key, path, valid: Duration.validText(inMs: limits)) {
            Duration(human: $0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    static func size<Value: FixedWidthInteger & Sendable>(
        _ key: String, _ path: Path<Value>, _ range: ClosedRange<Value>
    ) -> Setting {
        one(key, path, valid: ByteSize.validText(in: Int64(range.lowerBound)...Int64(range.upperBound))) {
            ByteSize($0).flatMap { Value(exactly: $0.bytes) }.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    static func path(_ key: String, _ path: Path<String>) -> Setting {
        one(key, path, valid: absolutePath.valid, absolutePath.parse)
    }

    static func paths(_ key: String, _ path: Path<[String]>) -> Setting {
        many(key, path, valid: absolutePath.valid, absolutePath.parse)
    }

    /// A path; an empty text means none.
    static func optionalPath(_ key: String, _ path: Path<String?>) -> Setting {
        optional(key, path, valid: absolutePath.valid + ", or \"\" for none", absolutePath.parse)
    }

    static let absolutePath: (valid: String, parse: Parse<String>) = (
        "a path that begins with /", { $0.hasPrefix("/") && !$0.utf8.contains(0) && $0.utf8.count < 4096 ? $0 : nil }
    )
}
