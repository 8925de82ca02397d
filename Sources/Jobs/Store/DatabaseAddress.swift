/// The place of a database: a file of this machine, or a database of a PostgreSQL server.
public enum DatabaseAddress: Sendable, Hashable {
    /// An SQLite file.
    case file(path: String)
    /// A URL such as `postgresql://halyard@db.example/jobs`, unchanged. It may contain a password.
    case postgresql(url: String)

    /// Reads an address as people write it: a path, or a URL that begins with `postgresql://` or `postgres://`.
    ///
    /// - Throws: ``DatabaseAddressProblem`` if the text is empty, or looks like a URL but is not one of PostgreSQL. A
    ///   mistyped URL must not become the name of a new file.
    public init(_ text: String) throws(DatabaseAddressProblem) {
        if text.isEmpty { throw .empty }
        guard let scheme = Self.scheme(of: text) else {
            self = .file(path: text)
            return
        }
        let rest = text.dropFirst(scheme.count + 1)
        guard ["postgresql", "postgres"].contains(scheme.lowercased()) else {
            guard rest.hasPrefix("//") else {
                self = .file(path: text)
                return
            }
            throw .unknownScheme(scheme)
        }
        guard rest.hasPrefix("//"), rest.count > 2 else { throw .incomplete }
        self = .postgresql(url: text)
    }

    /// The letters before the first colon, if they can be the scheme of a URL.
    private static func scheme(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":"), let first = text.first, first.isASCII, first.isLetter else {
            return nil
        }
        let scheme = text[..<colon]
        let isScheme = scheme.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        return isScheme ? String(scheme) : nil
    }

    /// The path of the file; nil for a server.
    public var path: String? { if case .file(let path) = self { path } else { nil } }
}

extension DatabaseAddress: CustomStringConvertible {
    /// The address for people: the path, or the URL without its password and parameters.
    public var description: String {
        switch self {
        case .file(let path): return path
        case .postgresql(let url): return URLParts(url).shown
        }
    }
}

extension DatabaseAddress {
    /// The address in the form that a configuration contains: the path, or the URL with its parameters but without
    /// passwords.
    package var withoutPassword: String {
        guard case .postgresql(let url) = self else { return description }
        let parts = URLParts(url)
        // A text without "=" may be the end of a password with an unescaped "&".
        let parameters = parts.parameters.split(separator: "&").filter {
            !$0.lowercased().contains("password") && $0.contains("=")
        }
        return parts.shown + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
    }
}

/// The parts of a URL that certainly do not belong to its password. Somebody may have forgotten to escape the password's
/// characters.
private struct URLParts {
    /// The URL up to its parameters, without the password.
    private(set) var shown: String
    private(set) var parameters: Substring = ""

    init(_ url: String) {
        shown = "postgresql://"
        guard let start = url.range(of: "://") else { return }
        let text = url[start.upperBound...]
        // As libpq reads it: with an "@" before the first "/", also after a "?", the text before it names the user.
        let authority = text.prefix { $0 != "/" }
        let hosts = authority.lastIndex(of: "@").map { text[$0...] } ?? text
        var place = hosts.prefix { $0 != "?" && $0 != "#" }
        let rest = hosts[place.endIndex...]
        let user = text[..<hosts.startIndex]
        let name = text.prefix { !":@/?#".contains($0) }
        // An "@" in the parameters may be part of one, or the end of the password.
        let isUserUnclear = user.drop { !"?#".contains($0) }.beginsWithParameter
        if isUserUnclear || (!user.isEmpty && !":@".contains(text[name.endIndex]))
            || (rest.contains("@") && !rest.beginsWithParameter)
        {
            shown += name
            return
        }
        if let at = place.dropFirst().lastIndex(of: "@") { place = place[at...] }
        shown += (place.first == "@" ? name : "") + place
        if rest.first == "?" { parameters = rest.dropFirst() }
    }
}

extension Substring {
    /// Whether the text after its first character begins with a parameter of libpq, which a password hardly does.
    fileprivate var beginsWithParameter: Bool {
        let names = [
            "user", "password", "host", "hostaddr", "port", "dbname", "passfile", "options", "application_name",
            "sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "target_session_attrs", "service",
        ]
        return first == "?" && names.contains { dropFirst().hasPrefix($0 + "=") }
    }
}

extension StringProtocol {
    /// The first occurrence of an ASCII text.
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if let end = index(start, offsetBy: text.count, limitedBy: endIndex), self[start..<end] == text {
                return start..<end
            }
            start = index(after: start)
        }
        return nil
    }
}

/// The reason why a text is not the address of a database. It is a clause that ends with the remedy, and never contains
/// the text, which may include a password.
public enum DatabaseAddressProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is empty.
    case empty
    /// The text begins like the URL of a PostgreSQL database and is not one.
    case incomplete
    /// The text is a URL of another kind.
    case unknownScheme(String)

    public var description: String {
        switch self {
        case .empty: "the address of the database is empty; name a file"
        case .incomplete: "the URL of the database is incomplete; write postgresql://USER@HOST/NAME"
        case .unknownScheme(let scheme):
            "a database cannot be at a URL that begins with \"\(scheme):\"; name a file, or write postgresql://USER@HOST/NAME"
        }
    }
}
