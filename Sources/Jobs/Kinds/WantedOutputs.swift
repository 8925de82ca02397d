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

extension RunnableKind {
    /// The dependency outputs that this kind accepts; nil if it accepts none.
    ///
    /// - Parameter kinds: The kinds whose output types are known.
    public func wantedOutputs(among kinds: KindRegistry) -> WantedOutputs? {
        guard acceptedType != Never.self else { return nil }
        guard let list = acceptedType as? any AcceptedList.Type else {
            return WantedOutputs(kinds: kinds.names(offering: [acceptedType]), onlyFirst: true)
        }
        return WantedOutputs(kinds: kinds.names(offering: [acceptedType, list.elementType]))
    }
}

extension KindRegistry {
    /// The names of the kinds that offer one of these types; nil if every kind fits, even one that this process does
    /// not know.
    fileprivate func names(offering types: [any Any.Type]) -> Set<String>? {
        if types.contains(where: { $0 == AnyOutput.self }) { return nil }
        return Set(all.filter { kind in types.contains { $0 == kind.offeredType } }.map(\.description.name))
    }
}
