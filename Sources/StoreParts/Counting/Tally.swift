import Jobs

/// The numbers of jobs by state, or changes to these numbers.
package struct Tally: Hashable, Sendable {
    private var lanes = SIMD8<Int64>()

    package init() {}

    package subscript(state: JobState) -> Int64 {
        get { lanes[state.rawValue] }
        set { lanes[state.rawValue] = newValue }
    }

    package var isZero: Bool { lanes == SIMD8<Int64>() }
    package var open: Int64 { lanes[0] &+ lanes[1] &+ lanes[2] &+ lanes[3] }

    package mutating func move(from old: JobState, to new: JobState) {
        lanes[old.rawValue] &-= 1
        lanes[new.rawValue] &+= 1
    }

    package var counts: StateCounts {
        var counts = StateCounts()
        for state in JobState.allCases { counts[state] = self[state] }
        return counts
    }
}
