/// Short forms for tests and measurements that run jobs of a store without a runner, as its only holder.
extension JobStore {
    /// The number of the last life that lasts. Begins one if there is none.
    package func anyHolder(now: Timestamp) async throws(StoreError) -> HolderID {
        // The life of a process that died without a goodbye is still listed.
        if let known = try await holders().last(where: { $0.endedAt == nil }),
            case .renewed = try await renew(known.id, now: now)
        {
            return known.id
        }
        return try await begin(.tool, now: now).id
    }

    /// Exchanges as the only holder.
    package func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, now: Timestamp
    ) async throws(StoreError) -> Exchange {
        try await exchange(ends, claim: claim, by: try await anyHolder(now: now), now: now)
    }

    /// Saves a checkpoint as the only holder.
    @discardableResult
    package func save(
        _ checkpoint: JSONText, under lease: Lease, now: Timestamp
    ) async throws(StoreError) -> SaveResult {
        let save = CheckpointSave(lease: lease, value: checkpoint)
        return try await self.save([save], by: try await anyHolder(now: now), now: now)[0]
    }

    /// Begins a new life, and rescues the jobs of all lives before it.
    package func rescueOrphans(
        maxRescues: Int, after lastEnd: LastEnd = .unexplained, now: Timestamp
    ) async throws(StoreError) -> RescueReport {
        let life = try await begin(.tool, now: now)
        return try await rescue(RescueRequest(maxRescues: maxRescues, after: lastEnd), by: life.id, now: now)
    }

    /// Registers kinds as the only holder.
    package func register(_ kinds: [KindDescription], now: Timestamp) async throws(StoreError) {
        try await register(kinds, by: try await anyHolder(now: now), now: now)
    }

    /// Records problems as the only holder.
    package func recordProblems(_ problems: [String: String], now: Timestamp) async throws(StoreError) {
        try await recordProblems(problems, by: try await anyHolder(now: now))
    }
}

extension Holder {
    fileprivate static let tool = Holder(identity: "tool", host: "localhost", version: "0")
}
