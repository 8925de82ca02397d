import ArgumentParser
import Jobs

/// The options of verbs that follow jobs to their end.
struct FollowOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How long to wait for the daemon to return after it stops; default: 5m. After that, or at once with 0s, the exit code is 75.",
            valueName: "duration"), transform: Duration.read)
    var reconnect = defaultReconnect

    static let defaultReconnect = Duration.seconds(300)
}

/// The options of verbs that enqueue jobs and may follow them.
struct WaitOptions: ParsableArguments {
    @Flag(help: "Wait until the jobs are final; the exit code is the outcome.")
    var wait = false

    @Option(
        help: ArgumentHelp("With --wait: how long to wait at most.", valueName: "duration"),
        transform: Duration.read)
    var timeout: Duration?

    @OptionGroup var follow: FollowOptions

    func validate() throws {
        if timeout != nil && !wait { throw ValidationError("--timeout requires --wait.") }
    }
}
