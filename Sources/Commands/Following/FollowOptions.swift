import ArgumentParser
import Jobs

/// The options of verbs that follow jobs to their end.
struct FollowOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "When the daemon goes, wait so long for it to come back; 0s gives up at once, with the exit code 75.",
            valueName: "duration"))
    var reconnect = DurationArgument(.seconds(300))
}

/// The options of verbs that make jobs and may follow them.
struct WaitOptions: ParsableArguments {
    @Flag(help: "Wait until the jobs are final; the exit code tells the outcome.")
    var wait = false

    @Option(help: ArgumentHelp("With --wait: wait no longer.", valueName: "duration"))
    var timeout: DurationArgument?

    @OptionGroup var follow: FollowOptions

    func validate() throws {
        if timeout != nil && !wait { throw ValidationError("--timeout goes with --wait.") }
    }
}
