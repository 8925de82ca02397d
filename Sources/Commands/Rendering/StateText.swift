import Jobs

/// The same mark, word and colour for a state in all output.
extension JobState {
    var mark: String {
        switch self {
        case .blocked: "◌"
        case .scheduled: "◷"
        case .ready: "○"
        case .running: "▶"
        case .succeeded: "✓"
        case .failed: "✗"
        case .cancelled: "⊘"
        case .skipped: "↷"
        }
    }

    var style: TextStyle {
        switch self {
        case .blocked, .scheduled, .skipped: .dim
        case .ready: .cyan
        case .running: .blue
        case .succeeded: .green
        case .failed: .red
        case .cancelled: .yellow
        }
    }

    /// `✓ succeeded`.
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
