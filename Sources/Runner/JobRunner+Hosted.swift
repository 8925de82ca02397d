import Jobs
import OperationTypes

extension JobRunner {
    /// Starts an attempt that another process runs. The host sends it with its next ``KindHost/flush()``.
    func start(_ attempt: RunningAttempt, on host: any KindHost) {
        let wanted =
            attempt.job.hasDependencies
            ? attempt.definition.kind?.description.wantedOutputs(among: kinds) : nil
        guard let wanted else { return run(attempt, [], on: host) }
        // Nothing awaits this task: it ends with an attempt in the host, or with an event for the claim loop.
        let reading = Task(priority: .medium) {
            switch await outputs(wanted, for: attempt) {
            case .success(let outputs):
                run(attempt, outputs, on: host)
                host.flush()
            case .failure(let result): end(attempt, result)
            }
        }
        attempt.adopt(reading)
    }

    private func run(_ attempt: RunningAttempt, _ dependencies: [DependencyOutput], on host: any KindHost) {
        let definition = attempt.definition.definition
        let payload = JobPayload(defaults: attempt.definition.defaults, explicit: attempt.job.input)
        guard attempt.adopt(host) else { return end(attempt, .notRun) }
        host.run(
            HostedAttempt(
                lease: attempt.lease, kind: definition.kind, input: payload.input, program: definition.program,
                dependencies: dependencies, checkpoint: attempt.job.checkpoint, tries: attempt.job.tries,
                retry: definition.retry, timeout: definition.timeout, isSuspect: attempt.job.isSuspect,
                onBegin: { [weak self] in self?.began(attempt) },
                onProgress: { [weak self] in self?.publish($0, of: attempt) },
                onCheckpoint: { [weak self] value, answer in
                    guard let self else { return answer(.failure(.leaseLost)) }
                    save(value, of: attempt, answer)
                },
                onConnections: { attempt.connections.replace(with: $0) }, onUsage: { attempt.note($0) },
                onEnd: { [weak self] in self?.ended(attempt, $0) }))
    }

    private func began(_ attempt: RunningAttempt) {
        // Only a timeout depends on the moment.
        if attempt.definition.definition.timeout != nil { handle(.began(attempt)) }
    }

    private func ended(_ attempt: RunningAttempt, _ end: HostedEnd) {
        switch end {
        case .failed(let failure): self.end(attempt, .threw(failure))
        case .crashed(let crash): self.end(attempt, .crashed(crash))
        case .notRun: self.end(attempt, .notRun)
        case .succeeded(let output, let children):
            if children.isEmpty { return self.end(attempt, returned(output, children: [])) }
            // Nothing awaits this task: it ends with an event that the claim loop waits for.
            Task(priority: .medium) { self.end(attempt, await planned(output, children)) }
        }
    }
}
