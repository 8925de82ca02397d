import ArgumentParser
import Jobs

/// The options of every verb that enqueues.
struct SubmissionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The queue, instead of the definition's.", valueName: "name"), completion: .names(.queues),
        transform: NameArgument.read)
    var queue: String?

    @Option(help: ArgumentHelp("The priority, instead of the definition's.", valueName: "priority"))
    var priority: Priority?

    @Option(
        help: ArgumentHelp(
            "A name of your own for this request: repeating it enqueues nothing more.", valueName: "key"))
    var key: String?
}
