import Jobs

extension Check {
    /// Lives of one holder.
    static let holding: [Check] = [
        Check("h1ALifeLastsUntilItsGoodbye") { bench in
            guard case .renewed(let life) = try await bench.store.renew(bench.holder, now: bench.now) else {
                throw Violation(description: "expected the life to last")
            }
            try expectEqual(life.id, bench.holder)
            try expect(!life.hasOrphans, "nobody has left a job")
            let (job, lease) = try await bench.startJob()
            try await bench.store.leave(bench.holder, now: bench.now)
            try await bench.store.leave(bench.holder, now: bench.now)
            try expectEqual(try await bench.store.renew(bench.holder, now: bench.now), .ended)
            _ = try await bench.enqueue(bench.job())
            let answer = try await bench.exchange([], claim: ClaimRequest(slots: 9))
            try expect(!answer.isAlive, "the life has ended")
            try expectEqual(answer.claimed, [])
            // H3: nobody has rescued the job yet.
            try expectEqual(try await bench.end(lease, .succeeded(JSONText("1"))), .recorded(.succeeded))
            try expectEqual(try await bench.state(job), .succeeded)
        },
        Check("h1TheNextLifeOfAnIdentityEndsTheOneBefore") { bench in
            let first = bench.holder
            let (job, _) = try await bench.startJob()
            let second = try await bench.begin()
            try expect(second.id > first, "numbers ascend")
            try expect(second.hasOrphans, "the life before has left a job")
            try expectEqual(try await bench.store.renew(first, now: bench.now), .ended)
            let request = RescueRequest(maxRescues: 3)
            try expectEqual(
                try await bench.store.rescue(request, by: first, now: bench.now),
                RescueReport(returned: [], failed: [], cancelled: []), "an ended life rescues nothing:")
            try expectEqual(try await bench.rescue(after: .unrelated(reason: "It lapsed")).returned, [job])
            try expectEqual(try await bench.store.attempts(of: job).last?.outcome, .interrupted)
            // The numbers go on after a restart.
            try await bench.restart()
            try expect(bench.holder > second.id, "numbers ascend")
        },
        Check("h2ARescueLeavesTheJobsOfItsOwnLife") { bench in
            let (job, lease) = try await bench.startJob()
            try expectEqual(try await bench.rescue(), RescueReport(returned: [], failed: [], cancelled: []))
            try expectEqual(try await bench.state(job), .running)
            try expectEqual(try await bench.end(lease, .succeeded(JSONText("1"))), .recorded(.succeeded))
        },
        Check("h3AnEndNamesTheLifeThatClaimedTheJob") { bench in
            let (job, lease) = try await bench.startJob()
            let first = bench.holder
            try await bench.begin()
            let end = AttemptEnd(lease: lease, ending: .succeeded(JSONText("2")))
            try expectEqual(try await bench.exchange([end]).finished, [.leaseLost])
            try expectEqual(try await bench.state(job), .running)
            try expect(try await bench.store.attempts(of: job).isEmpty, "nothing was recorded")
            try await bench.rescue()
            // P3: the life before is too late.
            let late = try await bench.store.exchange([end], claim: nil, by: first, now: bench.now)
            try expectEqual(late.finished, [.leaseLost])
            try expectEqual(try await bench.state(job), .ready)
            try expectEqual(try await bench.claimOne().lease, Lease(job: job, attempt: 2))
        },
        Check("heldJobsAreReadAsTheyWereClaimed") { bench in
            let suspect = try await bench.enqueue(bench.job(input: JSONText("{\"a\":1}")))
            _ = try await bench.claimOne()
            try await bench.restartAndRescue()
            let receipt = try await bench.enqueue(graph: [bench.job(), bench.job(after: [.new(0)])])
            let first = try await bench.claim()
            try expectEqual(first.map(\.lease.job), [suspect, receipt.jobs[0]])
            try expectEqual(first.map(\.isSuspect), [true, false])
            try expectEqual(try await bench.store.held(by: bench.holder), first)
            try await bench.end(first[1].lease, .succeeded(JSONText("1")))
            let last = try await bench.claimOne()
            try expect(last.hasDependencies, "the second job depends on the first")
            try expectEqual(try await bench.store.held(by: bench.holder), [first[0], last])
            try await bench.end(first[0].lease, .retry(.broken, after: .zero))
            try await bench.end(last.lease, .interrupted)
            try expectEqual(try await bench.store.held(by: bench.holder), [])
            let life = bench.holder
            _ = try await bench.claim()
            try await bench.begin()
            try expectEqual(try await bench.store.held(by: life).count, 2)
            try expectEqual(try await bench.store.held(by: bench.holder), [])
        },
        Check("livesAreListed") { bench in
            let (job, lease) = try await bench.startJob()
            let upload = KindDescription(
                name: "upload", summary: "Uploads.", inputType: "I", outputType: "O", accepts: nil, offers: "O",
                fields: [])
            try await bench.store.register([upload], by: bench.holder, now: bench.now)
            var record = try unwrap(try await bench.store.holders().last)
            try expectEqual(record.id, bench.holder)
            try expectEqual(record.holder, .bench)
            try expectEqual(record.kinds, ["upload"])
            try expectEqual(record.startedAt, bench.now)
            try expectEqual(record.runningByQueue, ["default": 1], "job \(job):")
            try expectEqual(record.endedAt, nil)
            try await bench.end(lease, .interrupted)
            bench.advance(.seconds(3))
            try await bench.store.leave(bench.holder, now: bench.now)
            record = try unwrap(try await bench.store.holders().last)
            try expectEqual(record.endedAt, bench.now)
            try expectEqual(record.running, 0)
        },
        Check("aHolderListsTheKindsThatItServes") { bench in
            func kind(_ name: String) -> KindDescription {
                KindDescription(
                    name: name, summary: "It.", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
            }
            let holder = Holder(
                identity: Holder.bench.identity, name: "one", host: "host", version: "1.0", queues: ["a", "b"],
                kinds: ["mail", "upload"])
            let life = try await bench.store.begin(holder, now: bench.now).id
            try await bench.store.register(["unfurl", "upload"].map(kind), by: life, now: bench.now)
            let record = try unwrap(try await bench.store.holders().last)
            try expectEqual(record.holder, holder)
            // The holder has not registered "mail".
            try expectEqual(record.kinds, ["upload"])
            // Definitions of kinds that the holder does not serve can be used too.
            try expectEqual(try await bench.store.definitions().kinds.map(\.name), ["unfurl", "upload"])
            try expectEqual(
                try await bench.store.kinds(registeredBy: holder.identity).map(\.name), ["unfurl", "upload"])
        },
        Check("aClaimMayNameKindsAndQueues") { bench in
            try await bench.change(QueueChange(name: "here"))
            let mail = try await bench.define(kind: "mail")
            let jobs = [
                try await bench.enqueue(bench.job()), try await bench.enqueue(bench.job(queue: "here")),
                try await bench.enqueue(bench.job(queue: "here", definition: mail)),
            ]
            func claim(_ kinds: Set<String>?, _ queues: Set<String>?) async throws -> [JobID] {
                try await bench.claim(ClaimRequest(slots: 9, kinds: kinds, queues: queues)).map(\.lease.job)
            }
            try expectEqual(try await claim(["none"], nil), [])
            try expectEqual(try await claim(nil, ["none"]), [])
            try expectEqual(try await claim(["mail"], ["here"]), [jobs[2]])
            try expectEqual(try await claim(nil, ["here"]), [jobs[1]])
            try expectEqual(try await claim(nil, nil), [jobs[0]])
        },
    ]

    /// Changes that name the settings with which they were checked.
    static let expecting: [Check] = [
        Check("aChangeIsRefusedIfTheSettingsChangedSinceItsCheck") { bench in
            let version = try unwrap(try await bench.store.definitions().version)
            try await bench.change(QueueChange(name: "mail"))
            let change = DefinitionChange(
                queues: [QueueChange(name: "none")], definitions: [Definition(name: "late", kind: "noop")])
            try expectEqual(
                try await bench.store.change(change, checkedAt: version, now: bench.now), .outdated)
            try expectEqual(
                try await bench.store.change(QueueChange(name: "none"), checkedAt: version, now: bench.now), .outdated)
            let set = try await bench.store.definitions()
            try expectEqual(set.definitions.map(\.definition.name), ["step"])
            try expectEqual(set.queues.map(\.name), ["default", "mail"])
            let outcome = try await bench.store.change(change, checkedAt: set.version, now: bench.now)
            guard case .changed(let next) = outcome else { throw Violation(description: "expected a change") }
            try expect(next != set.version, "the version changed")
            try expectEqual(try await bench.store.definitions().version, next)
        },
        Check("eachChangeOfTheSettingsHasAVersion") { bench in
            let store = bench.store
            var versions = Versions()
            try await versions.note(bench)
            try await bench.change(QueueChange(name: "mail", limit: 3))
            try await versions.note(bench)
            try await bench.change(QueueChange(name: "mail", isPaused: true))
            try await versions.note(bench)
            _ = try await store.removeQueue("mail", now: bench.now)
            try await versions.note(bench)
            try await bench.change(DefinitionChange(definitions: [Definition(name: "a", kind: "noop")]))
            try await versions.note(bench)
            try await bench.change(DefinitionChange(removals: ["a"]))
            try await versions.note(bench)
            let graph = GraphDefinition(name: "g", nodes: [GraphDefinition.Node(name: "n", definition: "step")])
            try await bench.change(DefinitionChange(graphs: [graph]))
            try await versions.note(bench)
            try await bench.change(DefinitionChange(schedules: [bench.schedule("nightly")]))
            try await versions.note(bench)
            try await bench.change(DefinitionChange(scheduleRemovals: ["nightly"]))
            try await versions.note(bench)
            let kind = KindDescription(
                name: "noop", summary: "Nothing.", inputType: "I", outputType: "O", accepts: nil, offers: "O",
                fields: [])
            try await store.register([kind], by: bench.holder, now: bench.now)
            try await versions.note(bench)
        },
        Check("jobsDoNotChangeTheVersionOfTheSettings") { bench in
            let planned = try await bench.planNightly(in: .seconds(5))
            let version = try await bench.store.definitions().version
            _ = try await bench.enqueue(graph: [bench.job(), bench.job(after: [.new(0)])])
            try await bench.runOne()
            try await bench.store.recordProblems(["step": "bad"], by: bench.holder)
            bench.advance(.seconds(5))
            let timing = ScheduleTiming(planned, after: bench.now, nextAt: bench.now + .seconds(60))
            _ = try await bench.store.fire(
                ScheduleFiring(timing, .enqueue(NewGraph(isGraph: false, jobs: [bench.job()]))), now: bench.now)
            try expectEqual(try await bench.store.definitions().version, version)
        },
    ]
}

/// The versions of the settings that a check has seen.
private struct Versions {
    private var known: Set<SettingsVersion> = []

    mutating func note(_ bench: Workbench) async throws {
        let version = try unwrap(try await bench.store.definitions().version)
        try expect(known.insert(version).inserted, "change \(known.count) has a version of its own")
    }
}
