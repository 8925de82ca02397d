import ArgumentParser

/// The options of every verb.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The daemon's socket (or HALYARD_SOCKET).", valueName: "path"), completion: .file())
    var socket: String?

    @Option(
        help: ArgumentHelp("The database to use where no daemon runs (or HALYARD_DATABASE).", valueName: "path"),
        completion: .file())
    var database: String?

    @Flag(help: "Print JSON, as the control socket gives it.")
    var json = false
}
