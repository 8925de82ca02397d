import Jobs

/// The other code that was running when the process ended.
package struct Company {
    package var others: Int
    /// The number of abandoned attempts, whose code was still running (``JobStore/noteAbandoned(_:)``).
    package var abandoned: Int

    package init(others: Int, abandoned: Int) {
        self.others = others
        self.abandoned = abandoned
    }

    package var isNone: Bool { others + abandoned == 0 }

    package var text: String {
        if isNone { return "it ran alone" }
        if others == 0 { return "it ran at the same time as the code of an abandoned attempt" }
        return others == 1
            ? "it ran at the same time as another job" : "it ran at the same time as \(others) other jobs"
    }
}

extension LastEnd {
    package static let machineRestarted = LastEnd.unrelated(reason: "The machine was restarted")

    package var isCrash: Bool { if case .unrelated = self { false } else { true } }
}
