/// The reason why a time zone cannot be used.
public enum ZoneProblem: Error, Hashable, Sendable {
    /// There is no time zone of this name.
    case unknown(String)
    /// The file of this time zone could not be read or is invalid.
    case unreadable(String, reason: String)
}

extension ZoneProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknown(let name):
            "unknown time zone \"\(name)\"; write UTC or a name from \(Zone.directory), such as Europe/Berlin"
        case .unreadable(let name, let reason): "the time zone \"\(name)\" cannot be used: \(reason)"
        }
    }
}
