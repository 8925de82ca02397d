// Opens a store, writes to it, and adds every acknowledged write to the record of the preloaded disk
// (Tests/PowerCut/disk.c).
//
//   PowerCutWriter DATABASE ROUNDS stop|kill [CURE]
//
// CURE is an ineffective measure after a failed sync, taken before the store opens the database.

import Foundation
import Glibc
import Jobs
import SQLite
import SQLiteStore

let now = Timestamp(milliseconds: 1_750_000_000_000)
let arguments = CommandLine.arguments
guard arguments.count >= 4, let rounds = Int(arguments[2]),
    let disk = ProcessInfo.processInfo.environment["HALYARD_DISK"]
else { exit(64) }
let path = arguments[1]
let record = open(disk + "/log", O_WRONLY | O_APPEND | O_CLOEXEC)
guard record >= 0 else { exit(66) }

/// - Parameter number: Positive for a job, negative for the result of a job.
func acknowledge(_ number: Int64) {
    var bytes: [UInt8] = [UInt8(ascii: "a"), 0]
    withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    bytes += [0, 0, 0, 0]
    guard write(record, bytes, bytes.count) == bytes.count else { exit(71) }
}

/// - Parameter version: A number that grows with each checkpoint of the job.
func acknowledgeCheckpoint(_ job: JobID, version: Int) {
    var bytes: [UInt8] = [UInt8(ascii: "c"), 0]
    withUnsafeBytes(of: job.rawValue.littleEndian) { bytes += $0 }
    withUnsafeBytes(of: Int32(4).littleEndian) { bytes += $0 }
    withUnsafeBytes(of: Int32(version).littleEndian) { bytes += $0 }
    guard write(record, bytes, bytes.count) == bytes.count else { exit(71) }
}

/// A checkpoint that needs several pages.
func checkpoint(version: Int) -> JSONText {
    let text = String(repeating: "x", count: 6000)
    return JSONText(trusted: Array("{\"version\":\(version),\"text\":\"\(text)\"}".utf8))
}

func fail(_ error: any Error, _ status: Int32) -> Never {
    print("\(error)")
    exit(status)
}

func writeAgain(_ file: String) {
    let descriptor = open(file, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    var bytes = [UInt8](repeating: 0, count: 1 << 24)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count >= 0, pwrite(descriptor, bytes, count, 0) == count, fdatasync(descriptor) == 0 else { exit(74) }
    close(descriptor)
}

switch arguments.dropFirst(4).first {
case "write-again": writeAgain(path + "-wal")
case "checkpoint":
    if access(path, F_OK) == 0 {
        do {
            try Connection(path: path, access: .readWrite).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            fail(error, 74)
        }
    }
default: break
}

let options = StoreOptions(
    busyTimeout: .milliseconds(500), walBytes: 96 << 10, checkpointPages: 40, minimumFreeBytes: 0, checkedBytes: 1 << 24
)
let store: SQLiteJobStore
do {
    store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: path), options: options)
} catch {
    switch error {
    case .damaged, .notADatabase, .settingRefused, .foreignDatabase: fail(error, 78)
    default: fail(error, 74)
    }
}

do {
    _ = try await store.rescueOrphans(maxRescues: 1000, now: now)
    if try await store.definitions().definitions.isEmpty {
        try await store.change(DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: now)
    }
    let definition = try await store.definitions().definitions[0].id
    let input = JSONText(trusted: [34] + [UInt8](repeating: 120, count: 400) + [34])
    let job = NewJob(definition: definition, input: input)
    let last = NewJob(
        definition: definition, dependencies: [NewDependency(on: .new(0)), NewDependency(on: .new(1))])
    var versions: [JobID: Int] = [:]
    for round in 0..<rounds {
        let outcomes = try await store.enqueue([NewGraph(isGraph: true, jobs: [job, job, last])], now: now)
        guard case .enqueued(let receipt) = outcomes[0] else { exit(70) }
        acknowledge(receipt.jobs[0].rawValue)
        if round % 3 != 0 { continue }
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 2), now: now).claimed
        for job in claimed {
            let version = job.checkpoint.flatMap(JSONObject.init)?["version"]?.integer ?? 0
            // A job that an earlier process has claimed may have any.
            if let known = versions[job.lease.job], known != Int(version) { exit(70) }
            versions[job.lease.job] = Int(version)
        }
        // Both with one commit, and then a further one.
        for leases in [claimed.map(\.lease), claimed.suffix(1).map(\.lease)] where !leases.isEmpty {
            for lease in leases { versions[lease.job]! += 1 }
            let saves = leases.map { CheckpointSave(lease: $0, value: checkpoint(version: versions[$0.job]!)) }
            let results = try await store.save(saves, by: try await store.anyHolder(now: now), now: now)
            guard results.allSatisfy({ $0 == .saved }) else { exit(70) }
            for lease in leases { acknowledgeCheckpoint(lease.job, version: versions[lease.job]!) }
        }
        // The last job of every other round runs again.
        let ends = claimed.enumerated().map { index, job in
            let runsAgain = round % 2 == 0 && index == claimed.count - 1
            return AttemptEnd(
                lease: job.lease,
                ending: runsAgain ? .interrupted : .succeeded(JSONText(trusted: Array("true".utf8))))
        }
        let finished = try await store.exchange(ends, claim: nil, now: now).finished
        for (end, result) in zip(ends, finished) {
            guard case .recorded(let state) = result else { exit(70) }
            if state == .succeeded { acknowledge(-end.lease.job.rawValue) }
        }
    }
} catch {
    await store.close()
    fail(error, 74)
}
if arguments[3] == "kill" { _exit(0) }
await store.close()
