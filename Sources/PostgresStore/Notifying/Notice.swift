import Jobs

/// The changes of one commit, as other stores of the database hear of them: numbers and states, no data of jobs.
///
/// The text is `sender|flags|jobs`. Each job is `number,graph,state,attempt,cancel,due`, with `;` between jobs.
struct Notice: Equatable {
    var sender: Int64
    var changes: [StoreChange]

    /// The most bytes of a notification that PostgreSQL accepts, with some to spare.
    private static let maxBytes = 7900
    /// The most notifications for one commit. The observers of a commit with more changes than fit look again.
    private static let maxTexts = 32

    /// The notification of `halyard.enqueue`. All calls of one transaction send it together as one.
    static let work = "0|w|"

    /// The notifications for one commit; empty if nothing changed.
    static func texts(_ changes: [StoreChange], from sender: Int64) -> [String] {
        var flags = ""
        var jobs: [String] = []
        for change in changes {
            switch change {
            case .jobs(let some): jobs += some.map(text(of:))
            case .queues: flags += "q"
            case .definitions: flags += "d"
            case .schedules: flags += "s"
            case .holders: flags += "h"
            case .missed: flags += "m"
            case .accepted, .work, .condition, .stopped: break
            }
        }
        var texts: [String] = []
        var rest = jobs[...]
        repeat {
            var text = "\(sender)|\(texts.isEmpty ? flags : "")|"
            while let next = rest.first, text.utf8.count + next.utf8.count < maxBytes {
                text += next + ";"
                rest.removeFirst()
            }
            texts.append(text)
        } while !rest.isEmpty && texts.count < maxTexts
        if !rest.isEmpty { texts.append("\(sender)|m|") }
        return flags.isEmpty && jobs.isEmpty ? [] : texts
    }

    private static func text(of change: JobChange) -> String {
        let graph = change.graph.map(\.description) ?? ""
        let due = change.dueAt.map { "\($0.milliseconds)" } ?? ""
        let cancel = change.isCancelRequest ? "1" : ""
        return "\(change.job),\(graph),\(change.state.rawValue),\(change.attempt),\(cancel),\(due)"
    }

    /// Reads a notification; nil if it is of another form, which a later release may use.
    init?(_ text: String) {
        let parts = text.split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count == 3, let sender = Int64(parts[0]) else { return nil }
        self.sender = sender
        changes = []
        let jobs = parts[2].split(separator: ";").compactMap { Self.change($0) }
        if !jobs.isEmpty { changes.append(.jobs(jobs)) }
        for flag in parts[1] {
            switch flag {
            case "w": changes.append(.work)
            case "q": changes.append(.queues)
            case "d": changes.append(.definitions)
            case "s": changes.append(.schedules)
            case "h": changes.append(.holders)
            case "m": changes.append(.missed)
            default: break
            }
        }
    }

    private static func change(_ text: Substring) -> JobChange? {
        let fields = text.split(separator: ",", omittingEmptySubsequences: false)
        guard fields.count == 6, let job = Int64(fields[0]), let attempt = Int(fields[3]),
            let state = Int(fields[2]).flatMap(JobState.init(rawValue:))
        else { return nil }
        return JobChange(
            job: JobID(job), graph: Int64(fields[1]).map(GraphID.init(_:)), state: state, attempt: attempt,
            isCancelRequest: fields[4] == "1", dueAt: Int64(fields[5]).map(Timestamp.init(milliseconds:)))
    }
}
