/// Which outputs of its dependencies a job's input is made of.
public struct WantedOutputs: Sendable, Hashable {
    /// Of dependencies of these kinds; nil for any.
    public var kinds: Set<String>?
    /// Only the first in declared order.
    public var onlyFirst: Bool

    public init(kinds: Set<String>? = nil, onlyFirst: Bool = false) {
        self.kinds = kinds
        self.onlyFirst = onlyFirst
    }

    /// What all outputs that become one job's input may come to.
    public static let maxBytes = 64 << 20
}

extension RunnableKind {
    /// Nil when no output of a dependency can become part of the input.
    public func wantedOutputs(among kinds: KindRegistry) -> WantedOutputs? {
        guard erased.acceptedType != Never.self else { return nil }
        guard let list = erased.acceptedType as? any AcceptedList.Type else {
            return WantedOutputs(kinds: kinds.names(offering: [erased.acceptedType]), onlyFirst: true)
        }
        return WantedOutputs(kinds: kinds.names(offering: [erased.acceptedType, list.elementType]))
    }
}

extension KindRegistry {
    /// Nil when any kind will do, also one that this process does not know.
    fileprivate func names(offering types: [any Any.Type]) -> Set<String>? {
        if types.contains(where: { $0 == AnyOutput.self }) { return nil }
        return Set(all.filter { kind in types.contains { $0 == kind.erased.offeredType } }.map(\.description.name))
    }
}
