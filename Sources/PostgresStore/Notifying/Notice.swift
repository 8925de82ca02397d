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
        var flags: [UInt8] = []
        var jobs: [JobChange] = []
        for change in changes {
            switch change {
            case .jobs(let some): jobs += some
            case .queues: flags.append(UInt8(ascii: "q"))
            case .definitions: flags.append(UInt8(ascii: "d"))
            case .schedules: flags.append(UInt8(ascii: "s"))
            case .holders: flags.append(UInt8(ascii: "h"))
            case .missed: flags.append(UInt8(ascii: "m"))
            case .accepted, .work, .condition, .stopped: break
            }
        }
        if flags.isEmpty && jobs.isEmpty { return [] }
        var texts: [String] = []
        var text = head(sender, flags)
        for job in jobs {
            let end = text.count
            append(job, to: &text)
            if text.count <= maxBytes { continue }
            let next = text[end...]
            texts.append(String(decoding: text[..<end], as: UTF8.self))
            if texts.count == maxTexts {
                texts.append(String(decoding: head(sender, [UInt8(ascii: "m")]), as: UTF8.self))
                return texts
            }
            text = head(sender, []) + next
        }
        texts.append(String(decoding: text, as: UTF8.self))
        return texts
    }

    private static func head(_ sender: Int64, _ flags: [UInt8]) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(maxBytes + 100)
        head += String(sender).utf8
        head.append(UInt8(ascii: "|"))
        head += flags
        head.append(UInt8(ascii: "|"))
        return head
    }

    /// Appends digits, without the cost of an interpolation: a daemon writes and reads several changes of each job.
    private static func append(_ change: JobChange, to text: inout [UInt8]) {
        func append(_ number: Int64?) {
            if let number { text += String(number).utf8 }
            text.append(UInt8(ascii: ","))
        }
        append(change.job.rawValue)
        append(change.graph?.rawValue)
        append(Int64(change.state.rawValue))
        append(Int64(change.attempt))
        append(change.isCancelRequest ? 1 : nil)
        append(change.dueAt?.milliseconds)
        text[text.count - 1] = UInt8(ascii: ";")
    }

    /// Reads a notification; nil if it is of another form, which a later release may use. Leaves out such jobs.
    init?(_ text: String) {
        let parts = Array(text.utf8).split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
        guard parts.count == 3, let sender = Int64(String(decoding: parts[0], as: UTF8.self)) else { return nil }
        self.sender = sender
        changes = []
        let jobs = parts[2].split(separator: UInt8(ascii: ";")).compactMap { Self.change($0) }
        if !jobs.isEmpty { changes.append(.jobs(jobs)) }
        for flag in parts[1] {
            switch flag {
            case UInt8(ascii: "w"): changes.append(.work)
            case UInt8(ascii: "q"): changes.append(.queues)
            case UInt8(ascii: "d"): changes.append(.definitions)
            case UInt8(ascii: "s"): changes.append(.schedules)
            case UInt8(ascii: "h"): changes.append(.holders)
            case UInt8(ascii: "m"): changes.append(.missed)
            default: break
            }
        }
    }

    private static func change(_ text: ArraySlice<UInt8>) -> JobChange? {
        var numbers = Numbers(rest: text)
        let (first, graph, third, fourth) = (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        let (cancel, due) = (numbers.next(), numbers.next())
        guard numbers.hasEnded, let job = first, let state = third.flatMap({ JobState(rawValue: Int($0)) }),
            let attempt = fourth
        else { return nil }
        return JobChange(
            job: JobID(job), graph: graph.map(GraphID.init(_:)), state: state, attempt: Int(attempt),
            isCancelRequest: cancel == 1, dueAt: due.map(Timestamp.init(milliseconds:)))
    }

    /// Reads decimal numbers between commas. An empty field is nil.
    private struct Numbers {
        var rest: ArraySlice<UInt8>
        private var isValid = true
        private var isOver = false

        init(rest: ArraySlice<UInt8>) { self.rest = rest }

        /// Whether all fields were read, and none contained anything else.
        var hasEnded: Bool { isOver && isValid }

        mutating func next() -> Int64? {
            if isOver { isValid = false }
            var number: Int64?
            var isNegative = false
            defer { if isNegative && number == nil { isValid = false } }
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: ",") { return number }
                if byte == UInt8(ascii: "-"), number == nil, !isNegative {
                    isNegative = true
                    continue
                }
                let digit = Int64(byte) - Int64(UInt8(ascii: "0"))
                let (tens, isTooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
                let (sum, overflows) = tens.addingReportingOverflow(isNegative ? -digit : digit)
                if !(0...9).contains(digit) || isTooLarge || overflows { isValid = false }
                number = isValid ? sum : nil
            }
            isOver = true
            return number
        }
    }
}
