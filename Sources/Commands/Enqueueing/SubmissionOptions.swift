import ArgumentParser
import Jobs

/// The options of every verb that enqueues.
struct SubmissionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Use this queue instead of the definition's.", valueName: "name"),
        completion: .names(.queues),
        transform: NameArgument.read)
    var queue: String?

    @Option(help: ArgumentHelp("Use this priority instead of the definition's.", valueName: "priority"))
    var priority: Priority?

    @Option(
        help: ArgumentHelp(
            "An idempotency key: repeating the request with the same key enqueues nothing more.", valueName: "key"))
    var key: String?
}
