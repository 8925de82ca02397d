import ArgumentParser

/// The options of every verb.
struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The daemon's socket (default: HALYARD_SOCKET).", valueName: "path"), completion: .file())
    var socket: String?

    @Option(
        help: ArgumentHelp("The database to use if no daemon runs (default: HALYARD_DATABASE).", valueName: "path"),
        completion: .file())
    var database: String?

    @Flag(help: "Print JSON as returned by the control socket.")
    var json = false
}
