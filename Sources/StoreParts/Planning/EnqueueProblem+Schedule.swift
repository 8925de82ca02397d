import Jobs

extension EnqueueProblem {
    /// Describes why the enqueue was refused: something has changed since the firing was planned. The schedule
    /// continues with its next time.
    package var reasonForSchedule: String {
        switch self {
        case .unknownQueue(let queue): "The queue \"\(queue)\" was just removed."
        case .unknownDefinition: "Its definition was just removed."
        case .unknownDependency(let job): "There is no job \(job) to wait for."
        case .hiddenCharacter(let character, let field): "The text of \(field) contains \(character)."
        case .unknownHome: "Its file is on a daemon that does not belong to this database."
        case .cycle: "The dependencies form a cycle."
        case .keyUsedForAnotherRequest(let key): "The key \"\(key)\" was used for another request."
        }
    }
}
