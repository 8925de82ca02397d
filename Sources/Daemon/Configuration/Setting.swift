import Jobs

/// One key of the configuration: how its text becomes a value.
struct Setting: Sendable {
    enum Text: Sendable, Hashable {
        case scalar(String)
        case list([String])
    }

    /// Why a text is not valid for a setting. The reason ends with what to write instead.
    struct Refusal: Error {
        var reason: String
    }

    /// All problems with one value.
    struct Refusals: Error {
        /// `entry` is an index in a list; nil if the problem concerns the whole value.
        var all: [(entry: Int?, reason: String)]

        init(_ reason: String) { all = [(nil, reason)] }

        init(entries: [(entry: Int?, reason: String)]) { all = entries }
    }

    typealias Apply = @Sendable (Text, inout DaemonConfiguration) throws(Refusals) -> Void

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

/// The ways to read a value. Each refusal says what was found and what to write instead.
extension Setting {
    typealias Path<Value> = any WritableKeyPath<DaemonConfiguration, Value> & Sendable

    static func one<Value: Sendable & Equatable>(
        _ key: String, _ path: Path<Value>, _ read: @escaping @Sendable (String) throws(Refusal) -> Value
    ) -> Setting {
        let apply: Apply = { text, configuration throws(Refusals) in
            guard case .scalar(let text) = text else { throw Refusals("takes one value, not a list") }
            do throws(Refusal) {
                configuration[keyPath: path] = try read(text)
            } catch {
                throw Refusals(error.reason)
            }
        }
        return Setting(key: key, isSame: { $0[keyPath: path] == $1[keyPath: path] }, apply: apply)
    }

    /// - Parameter read: Parses one entry of the list.
    static func many<Element, Value: RangeReplaceableCollection & Sendable & Equatable>(
        _ key: String, _ path: Path<Value>, _ read: @escaping @Sendable (String) throws(Refusal) -> Element
    ) -> Setting where Value.Element == Element {
        let apply: Apply = { text, configuration throws(Refusals) in
            guard case .list(let texts) = text else { throw Refusals("takes a list; write [a, b] or []") }
            var values = Value()
            var refused: [(entry: Int?, reason: String)] = []
            for (entry, text) in texts.enumerated() {
                do throws(Refusal) {
                    values.append(try read(text))
                } catch {
                    refused.append((entry, error.reason))
                }
            }
            guard refused.isEmpty else { throw Refusals(entries: refused) }
            configuration[keyPath: path] = values
        }
        return Setting(key: key, isList: true, isSame: { $0[keyPath: path] == $1[keyPath: path] }, apply: apply)
    }

    static func integer(_ key: String, _ path: Path<Int>, _ range: ClosedRange<Int>) -> Setting {
        one(key, path) { text throws(Refusal) in
            guard let value = Int(text), range.contains(value) else {
                throw Refusal(
                    reason: "is \"\(text)\"; write a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        }
    }

    static func duration(_ key: String, _ path: Path<Duration>, _ range: ClosedRange<Duration>) -> Setting {
        one(key, path) { text throws(Refusal) in
            guard let value = Duration(human: text), range.contains(value) else {
                throw Refusal(
                    reason:
                        "is \"\(text)\"; write a number with a unit (ms, s, m, h, d) from \(range.lowerBound.human) to \(range.upperBound.human)"
                )
            }
            return value
        }
    }

    static func size(_ key: String, _ path: Path<Int64>, _ range: ClosedRange<Int64>) -> Setting {
        one(key, path) { text throws(Refusal) in
            guard let value = ByteSize(text)?.bytes, range.contains(value) else {
                throw Refusal(
                    reason:
                        "is \"\(text)\"; write a number with a unit (B, KiB, MiB, GiB, TiB) from \(ByteSize(range.lowerBound)) to \(ByteSize(range.upperBound))"
                )
            }
            return value
        }
    }

    @Sendable static func absolutePath(_ text: String) throws(Refusal) -> String {
        guard text.hasPrefix("/"), !text.utf8.contains(0), text.utf8.count < 4096 else {
            throw Refusal(reason: "is \"\(text)\"; write a path that begins with /")
        }
        return text
    }

    /// Parses a path; an empty text means none.
    @Sendable static func optionalPath(_ text: String) throws(Refusal) -> String? {
        text.isEmpty ? nil : try absolutePath(text)
    }
}
