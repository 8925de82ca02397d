import Jobs

/// The same mark, word and colour for a state in all output.
extension JobState {
    private var look: (mark: String, style: TextStyle, fill: String) {
        switch self {
        case .blocked: ("◌", .dim, "#eeeeee")
        case .scheduled: ("◷", .dim, "#eeeeee")
        case .ready: ("○", .cyan, "#d7f0f7")
        case .running: ("▶", .blue, "#cfe2ff")
        case .succeeded: ("✓", .green, "#d1f0d5")
        case .failed: ("✗", .red, "#f8d0d0")
        case .cancelled: ("⊘", .yellow, "#fbe8c0")
        case .skipped: ("↷", .dim, "#e4e4e4")
        }
    }

    var mark: String { look.mark }
    var style: TextStyle { look.style }
    /// The colour in a diagram.
    var fill: String { look.fill }
    var text: StyledText { "\(mark, style) \(name, style)" }
}

extension AttemptOutcome {
    var style: TextStyle {
        switch self {
        case .succeeded: .green
        case .failed, .timedOut, .crashed: .red
        case .cancelled: .yellow
        case .interrupted: .dim
        }
    }
}

extension StateCounts {
    /// Formats the counts, such as `3 running, 2 failed`. States without jobs are left out.
    var text: StyledText {
        var text = StyledText()
        for state in JobState.allCases where self[state] > 0 {
            if !text.isEmpty { text += ", " }
            text += "\(AmountText.grouped(self[state])) \(state.name, state.style)"
        }
        return text.isEmpty ? "none" : text
    }
}

extension JobFailure {
    /// The code and message, such as `http_status: The server answered 503. …`.
    var text: StyledText { "\(code, .red): \(message)" }
}
