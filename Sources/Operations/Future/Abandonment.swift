import OperationTypes

/// Something that waits for a result which may never come.
@usableFromInline
protocol Abandonable: AnyObject, Sendable {
    /// One of those that could have supplied the result is gone. If it was the last, releases what waits here and adds it.
    func abandon(_ abandonment: inout Abandonment)
}

/// Futures that nobody will resolve, and those derived from them. A loop takes them apart: released one inside the other, a long
/// chain would overflow the thread's stack.
@usableFromInline
struct Abandonment {
    private var members: [any Abandonable] = []

    @usableFromInline
    static func of(_ target: AnyObject?) {
        var abandonment = Abandonment()
        abandonment.add(target)
        abandonment.release()
    }

    @usableFromInline
    mutating func add(_ target: AnyObject?) {
        if let member = target as? any Abandonable { members.append(member) }
    }

    func release() {
        guard !members.isEmpty else { return }
        if Nesting.enter() {
            releaseAll()
            Nesting.leave()
        } else {
            Nesting.postpone { releaseAll() }
        }
    }

    private func releaseAll() {
        var rest = self
        while let member = rest.members.popLast() { member.abandon(&rest) }
    }
}
