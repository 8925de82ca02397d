import Jobs

/// The numbers of jobs by state, or changes to these numbers.
struct Tally: Hashable, Sendable {
    private var lanes = SIMD8<Int64>()

    subscript(state: JobState) -> Int64 {
        get { lanes[state.rawValue] }
        set { lanes[state.rawValue] = newValue }
    }

    var isZero: Bool { lanes == SIMD8<Int64>() }
    var open: Int64 { lanes[0] &+ lanes[1] &+ lanes[2] &+ lanes[3] }

    mutating func move(from old: JobState, to new: JobState) {
        lanes[old.rawValue] &-= 1
        lanes[new.rawValue] &+= 1
    }

    var counts: StateCounts {
        var counts = StateCounts()
        for state in JobState.allCases { counts[state] = self[state] }
        return counts
    }
}
