/// The selection of dependency outputs that a job's input is built from.
public struct WantedOutputs: Sendable, Hashable {
    /// The kinds of the dependencies whose outputs are wanted; nil for every kind.
    public var kinds: Set<String>?
    /// Whether only the first output in declared order is wanted.
    public var onlyFirst: Bool

    /// Creates a selection. Default: the outputs of all dependencies.
    public init(kinds: Set<String>? = nil, onlyFirst: Bool = false) {
        self.kinds = kinds
        self.onlyFirst = onlyFirst
    }

    /// The maximum size of all outputs that become part of one input: 64 MiB.
    public static let maxBytes = 64 << 20
}

extension KindDescription {
    /// The dependency outputs that this kind accepts; nil if it accepts none.
    ///
    /// - Parameter kinds: The kinds whose output types are known.
    public func wantedOutputs(among kinds: KindRegistry) -> WantedOutputs? {
        guard let accepts else { return nil }
        let isList = accepts.hasPrefix("[")
        if accepts == Self.anyOutput || accepts == Self.anyOutputs { return WantedOutputs(onlyFirst: !isList) }
        let element = isList ? String(accepts.dropFirst().dropLast()) : accepts
        let fitting = kinds.descriptions.filter { $0.offers == accepts || $0.offers == element }.map(\.name)
        return WantedOutputs(kinds: Set(fitting), onlyFirst: !isList)
    }
}
