import Jobs

extension Halyard.Enqueue {
    /// Parses a usual call without the full parser.
    ///
    /// - Returns: Nil for a wrong or unusual call, which the full parser handles.
    init?(plain words: [String]) {
        self.init()
        // The properties have no values yet, not even their defaults.
        name = nil
        arguments = []
        assignments = []
        input = nil
        lines = nil
        after = []
        at = nil
        delay = nil
        copy = false
        var options = SubmissionOptions()
        options.queue = nil
        options.priority = nil
        options.key = nil
        self.options = options
        var follow = FollowOptions()
        follow.reconnect = FollowOptions.defaultReconnect
        var waiting = WaitOptions()
        waiting.wait = false
        waiting.timeout = nil
        waiting.follow = follow
        self.waiting = waiting
        var common = CommonOptions()
        common.socket = nil
        common.database = nil
        common.json = false
        self.common = common
        let isRead = PlainOption.read(words, into: &self, options: Self.plainOptions) { verb, word in
            if verb.name == nil { verb.name = try NameArgument.read(word) } else { verb.arguments.append(word) }
        }
        guard isRead else { return nil }
        do {
            try self.waiting.validate()
            try validate()
        } catch {
            // The full parser finds the error again and reports it.
            return nil
        }
    }

    /// All options of the verb. A test compares them with the options of the full parser.
    static let plainOptions: [PlainOption<Halyard.Enqueue>] = [
        .values("--set") { $0.assignments.append($1) },
        .value("--input") { $0.input = $1 },
        .value("--lines") { $0.lines = $1 },
        .values("--after") { $0.after.append(try AfterArgument.read($1)) },
        .value("--at") { $0.at = try TimeArgument.read($1) },
        .value("--in") { $0.delay = try Duration.read($1) },
        .flag("--copy") { $0.copy = true },
        .value("--queue") { $0.options.queue = try NameArgument.read($1) },
        .value("--priority") { verb, text in
            guard let priority = Priority(argument: text) else { throw ArgumentProblem(description: text) }
            verb.options.priority = priority
        },
        .value("--key") { $0.options.key = $1 },
        .flag("--wait") { $0.waiting.wait = true },
        .value("--timeout") { $0.waiting.timeout = try Duration.read($1) },
        .value("--reconnect") { $0.waiting.follow.reconnect = try Duration.read($1) },
        .value("--socket") { $0.common.socket = $1 },
        .value("--database") { $0.common.database = $1 },
        .flag("--json") { $0.common.json = true },
    ]
}
