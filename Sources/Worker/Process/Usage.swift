/// The answer to a person who starts a worker by hand.
enum Usage {
    static var text: String {
        let program = CommandLine.arguments.first ?? "this program"
        return
            "\(program) runs jobs for halyardd and cannot be used alone; name it under `workers` in halyard.yaml, or check it with: halyard workers test -- \(program)"
    }
}
