import ArgumentParser
import Jobs

/// The options of verbs that follow jobs to their end.
struct FollowOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How long to wait for a daemon that goes to come back, 5m if not given. Following goes on when it does; what is final is told at once. With 0s, or when the time is over, the exit code is 75.",
            valueName: "duration"), transform: DurationArgument.read)
    var reconnect = defaultReconnect

    static let defaultReconnect = DurationArgument(.seconds(300))
}

/// The options of verbs that enqueue jobs and may follow them.
struct WaitOptions: ParsableArguments {
    @Flag(help: "Wait until the jobs are final; the exit code tells the outcome.")
    var wait = false

    @Option(help: ArgumentHelp("With --wait: wait no longer.", valueName: "duration"), transform: DurationArgument.read)
    var timeout: DurationArgument?

    @OptionGroup var follow: FollowOptions

    func validate() throws {
        if timeout != nil && !wait { throw ValidationError("--timeout goes with --wait.") }
    }
}
