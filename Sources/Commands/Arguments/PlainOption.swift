/// An option of a verb whose usual calls are parsed without the full parser. The full parser inspects the
/// verb's properties by reflection, which takes longer than a small command runs.
struct PlainOption<Target>: Sendable {
    private enum Action: Sendable {
        case flag(@Sendable (inout Target) -> Void)
        case value(@Sendable (inout Target, String) throws -> Void)
    }

    /// The option as it is typed, such as `--set`.
    let name: String
    private let action: Action
    private var mayBeRepeated = false

    private init(_ name: String, _ action: Action) {
        self.name = name
        self.action = action
    }

    static func flag(_ name: String, _ set: @escaping @Sendable (inout Target) -> Void) -> PlainOption {
        PlainOption(name, .flag(set))
    }

    static func value(_ name: String, _ set: @escaping @Sendable (inout Target, String) throws -> Void) -> PlainOption {
        PlainOption(name, .value(set))
    }

    static func values(_ name: String, _ add: @escaping @Sendable (inout Target, String) throws -> Void) -> PlainOption
    {
        var option = PlainOption(name, .value(add))
        option.mayBeRepeated = true
        return option
    }

    /// Parses words into the properties of a verb: options by their full names, each followed by its value, and
    /// the words between them.
    ///
    /// - Returns: False for everything else, such as `--name=value`, an abbreviation, a value that begins with
    ///   a dash, or a repeated option. The full parser then decides.
    static func read(
        _ words: [String], into target: inout Target, options: [PlainOption],
        word: (inout Target, String) throws -> Void
    ) -> Bool {
        var seen: [String] = []
        var rest = words[...]
        while let text = rest.popFirst() {
            guard isOption(text) else {
                // Losing the error is harmless, since the full parser finds it again and reports it.
                guard (try? word(&target, text)) != nil else { return false }
                continue
            }
            guard let option = options.first(where: { $0.name == text }), option.mayBeRepeated || !seen.contains(text)
            else { return false }
            seen.append(text)
            switch option.action {
            case .flag(let set): set(&target)
            case .value(let set):
                guard let value = rest.popFirst(), !isOption(value) else { return false }
                // As above, the full parser reports the error.
                guard (try? set(&target, value)) != nil else { return false }
            }
        }
        return true
    }

    /// A single dash stands for standard input.
    private static func isOption(_ text: String) -> Bool { text.utf8.first == UInt8(ascii: "-") && text != "-" }
}
