import OperationTypes

/// An object that waits for a result that may never come.
@usableFromInline
protocol Abandonable: AnyObject, Sendable {
    /// Notes that one object that could have supplied the result is gone. If it was the last, releases the waiting
    /// handlers and adds their targets to `abandonment`.
    func abandon(_ abandonment: inout Abandonment)
}

/// Futures that will never be resolved, and the futures derived from them. A loop releases them, since nested releases
/// of a long chain would overflow the thread's stack.
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
