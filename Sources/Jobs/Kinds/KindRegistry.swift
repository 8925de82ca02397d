/// The kinds that a process can run, by name.
public struct KindRegistry: Sendable {
    private let kinds: [String: RunnableKind]

    /// - Throws: When two kinds share a name, or a name is not one that a definition could give.
    public init(_ kinds: [any Kind]) throws(KindRegistryError) {
        var byName: [String: RunnableKind] = [:]
        for kind in kinds {
            let runnable = RunnableKind(kind)
            let name = runnable.description.name
            guard Self.isName(name) else { throw .notAName(name) }
            guard byName.updateValue(runnable, forKey: name) == nil else { throw .duplicate(name) }
        }
        self.kinds = byName
    }

    public subscript(name: String) -> RunnableKind? { kinds[name] }

    /// In order of name.
    public var descriptions: [KindDescription] {
        kinds.values.map(\.description).sorted { $0.name < $1.name }
    }

    private static func isName(_ name: String) -> Bool {
        let isLetter = { (byte: UInt8) in (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
        let isRest = { (byte: UInt8) in
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
        }
        guard let first = name.utf8.first, name.utf8.count <= 64 else { return false }
        return isLetter(first) && name.utf8.allSatisfy(isRest)
    }
}

public enum KindRegistryError: Error, Sendable, Hashable, CustomStringConvertible {
    case duplicate(String)
    case notAName(String)

    public var description: String {
        switch self {
        case .duplicate(let name): "two kinds are called \"\(name)\"; rename one"
        case .notAName(let name):
            "\"\(name)\" cannot name a kind: use a lower-case letter, then lower-case letters, digits and hyphens, at most 64"
        }
    }
}
