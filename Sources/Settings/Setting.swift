import Jobs

/// The text of a setting, before it is parsed.
package enum SettingText: Sendable, Hashable {
    case scalar(String)
    case list([String])
}

/// Why a text is not valid for a setting.
package struct SettingProblem: Error {
    /// Each reason ends with what to write instead. `entry` is an index in a list; nil if the problem concerns the
    /// whole value.
    package var reasons: [(entry: Int?, text: String)]

    package init(_ reason: String) { reasons = [(nil, reason)] }

    package init(entries: [(entry: Int?, text: String)]) { reasons = entries }
}

/// One key of a configuration of the type `Root`: how its text becomes a value.
package struct Setting<Root>: Sendable {
    package typealias Apply = @Sendable (SettingText, inout Root) throws(SettingProblem) -> Void
    package typealias Path<Value> = any WritableKeyPath<Root, Value> & Sendable
    /// Returns nil for a text that is not valid.
    package typealias Parse<Value> = @Sendable (String) -> Value?

    /// The key with its groups, such as `upload.roots`.
    package var key: String
    package var isList: Bool
    /// Whether a reload applies a new value. Otherwise the daemon must be restarted.
    package var isLive = false
    package var isSame: @Sendable (Root, Root) -> Bool
    package var apply: Apply

    package init(
        key: String, isList: Bool = false, isSame: @escaping @Sendable (Root, Root) -> Bool, apply: @escaping Apply
    ) {
        self.key = key
        self.isList = isList
        self.isSame = isSame
        self.apply = apply
    }

    package func live() -> Setting {
        var setting = self
        setting.isLive = true
        return setting
    }
}

/// The ways to read a value. A problem says what was found and what to write instead.
extension Setting {
    /// A single value. For values that need several messages.
    package static func one<Value: Sendable & Equatable>(
        _ key: String, _ path: Path<Value>, _ read: @escaping @Sendable (String) throws(SettingProblem) -> Value
    ) -> Setting {
        let apply: Apply = { text, configuration throws(SettingProblem) in
            guard case .scalar(let text) = text else { throw SettingProblem("takes one value, not a list") }
            configuration[keyPath: path] = try read(text)
        }
        return Setting(key: key, isSame: { $0[keyPath: path] == $1[keyPath: path] }, apply: apply)
    }

    /// A single value.
    ///
    /// - Parameter valid: What to write, such as `one of yes, no`.
    package static func one<Value: Sendable & Equatable>(
        _ key: String, _ path: Path<Value>, valid: String, _ parse: @escaping Parse<Value>
    ) -> Setting {
        one(key, path) { text throws(SettingProblem) in
            guard let value = parse(text) else { throw SettingProblem("is \"\(text)\"; write \(valid)") }
            return value
        }
    }

    /// A single value; an empty text means none.
    ///
    /// - Parameter valid: What to write, and what an empty text means.
    package static func optional<Value: Sendable & Equatable>(
        _ key: String, _ path: Path<Value?>, valid: String, _ parse: @escaping Parse<Value>
    ) -> Setting {
        one(key, path) { text throws(SettingProblem) in
            if text.isEmpty { return nil }
            guard let value = parse(text) else { throw SettingProblem("is \"\(text)\"; write \(valid)") }
            return value
        }
    }

    /// A list of values.
    ///
    /// - Parameters:
    ///   - valid: What to write.
    ///   - parse: Parses one entry.
    package static func many<Element, Value: RangeReplaceableCollection & Sendable & Equatable>(
        _ key: String, _ path: Path<Value>, valid: String, _ parse: @escaping Parse<Element>
    ) -> Setting where Value.Element == Element {
        let apply: Apply = { text, configuration throws(SettingProblem) in
            guard case .list(let texts) = text else { throw SettingProblem("takes a list; write [a, b] or []") }
            let values = texts.map(parse)
            let refused = zip(texts.indices, values).filter { $1 == nil }.map { entry, _ in
                (entry: Int?.some(entry), text: "contains \"\(texts[entry])\"; write \(valid)")
            }
            guard refused.isEmpty else { throw SettingProblem(entries: refused) }
            configuration[keyPath: path] = Value(values.compactMap(\.self))
        }
        return Setting(key: key, isList: true, isSame: { $0[keyPath: path] == $1[keyPath: path] }, apply: apply)
    }

    package static func integer(_ key: String, _ path: Path<Int>, _ range: ClosedRange<Int>) -> Setting {
        one(key, path, valid: "a whole number from \(range.lowerBound) to \(range.upperBound)") {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    package static func duration(_ key: String, _ path: Path<Duration>, _ range: ClosedRange<Duration>) -> Setting {
        let limits = range.lowerBound.milliseconds...range.upperBound.milliseconds
        return one(key, path, valid: Duration.validText(inMs: limits)) {
            Duration(human: $0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    package static func size<Value: FixedWidthInteger & Sendable>(
        _ key: String, _ path: Path<Value>, _ range: ClosedRange<Value>
    ) -> Setting {
        one(key, path, valid: ByteSize.validText(in: Int64(range.lowerBound)...Int64(range.upperBound))) {
            ByteSize($0).flatMap { Value(exactly: $0.bytes) }.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    package static func path(_ key: String, _ path: Path<String>) -> Setting {
        one(key, path, valid: AbsolutePath.valid, AbsolutePath.parse)
    }

    package static func paths(_ key: String, _ path: Path<[String]>) -> Setting {
        many(key, path, valid: AbsolutePath.valid, AbsolutePath.parse)
    }

    /// A path; an empty text means none.
    package static func optionalPath(_ key: String, _ path: Path<String?>) -> Setting {
        optional(key, path, valid: AbsolutePath.valid + ", or \"\" for none", AbsolutePath.parse)
    }
}

/// A path that does not depend on the current directory.
package enum AbsolutePath {
    package static let valid = "a path that begins with /"

    /// Returns nil for a text that is not such a path.
    @Sendable package static func parse(_ text: String) -> String? {
        text.hasPrefix("/") && !text.utf8.contains(0) && text.utf8.count < 4096 ? text : nil
    }
}
