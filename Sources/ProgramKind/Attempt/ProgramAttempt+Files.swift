import Glibc
import JobFiles
import Jobs
import OperationTypes

/// The files that a program gets and leaves.
extension ProgramAttempt {
    /// The input with the outputs and the paths of the files of the dependencies.
    func withDependencies(_ input: JSONObject, _ files: [String?]) -> JSONObject {
        if attempt.dependencies.isEmpty { return input }
        var input = input
        input["dependencies"] = JSONWriter.text {
            $0.array(zip(attempt.dependencies, files)) { entry, writer in
                let (dependency, file) = entry
                writer.object { object in
                    object.field("job", dependency.dependency.rawValue)
                    if let node = dependency.node { object.field("node", node) }
                    object.field("kind", dependency.kind)
                    object.field("output", dependency.output ?? .null)
                    if let file { object.field("file", file) }
                }
            }
        }
        return input
    }

    /// Gives the program the files that the caller sent, under their own names, and replaces their internal names in the
    /// input by paths.
    func copySpooled(_ input: inout JSONObject, to work: WorkFolder) throws(TryFailure) {
        guard let spool = place.spool else { return }
        var names: Set<String> = []
        for field in input.fields {
            guard let file = field.value.decodedString.flatMap(SpooledFile.init) else { continue }
            var name = file.ownName ?? "file"
            var number = 1
            while !names.insert(name).inserted {
                number += 1
                var rest = file.ownName ?? "file"
                // A name of a file has at most 255 bytes.
                while rest.utf8.count > 200 { rest.removeLast() }
                name = "\(number)-\(rest)"
            }
            do throws(FileFailure) {
                let path = try work.copy("\(spool)/\(file.name.text)", as: name, in: "files")
                input[field.name] = JSONText(string: path)
            } catch {
                if error.code == ENOSPC || error.code == EDQUOT {
                    throw ProgramFailure.notStarted(
                        "the disk of \(place.folder) has no room for a copy of the file of the field \"\(field.name)\"; free some space, or move the daemon's files to a larger disk"
                    )
                }
                guard error.code == ENOENT else { throw ProgramFailure.notStarted(error) }
                throw Self.badInput(
                    "the spool no longer has the file of the field \"\(field.name)\"; enqueue the job again with the file"
                )
            }
        }
    }

    /// Gives the program the kept files of the dependencies, whose outputs are not trusted to name them.
    ///
    /// - Returns: The path in the work folder for each dependency; nil for those without a file.
    func lendFiles(to work: WorkFolder, _ lent: inout [LentDependency]) throws(TryFailure) -> [String?] {
        var names: Set<String> = []
        var paths: [String?] = []
        for (index, dependency) in attempt.dependencies.enumerated() {
            // Dependencies of several graphs may have the same name.
            let node = dependency.node.flatMap { names.insert($0).inserted ? $0 : nil }
            let path = "dependencies/\(node ?? "\(index + 1)")"
            let lease = Lease(job: dependency.dependency, attempt: dependency.attempt)
            do {
                guard dependency.output != nil, let files = place.files else {
                    paths.append(nil)
                    continue
                }
                _ = try work.makeFolder("dependencies")
                let file = try files.lend(lease, at: "\(work.path)/\(path)")
                if let file { lent.append(LentDependency(file: file, path: path)) }
                paths.append(file.map { _ in path })
            } catch JobFilesError.damaged(let content) {
                throw ProgramFailure.make(
                    ProgramFailure.Code.damagedDependency,
                    "the file of the dependency \(lease.job), \(content), is damaged, or a program has changed it; run job \(lease.job) again with its dependents."
                )
            } catch {
                throw ProgramFailure.notStarted("\(error)")
            }
        }
        if lent.contains(where: { !$0.file.isClone }) { JobFiles.waitForNextChangeTime() }
        return paths
    }

    /// Ends the loans of the dependencies' files.
    ///
    /// - Returns: The failure of the attempt if a file was changed meanwhile.
    func takeBack(_ lent: [LentDependency]) -> TryFailure? {
        var changed: [LentDependency] = []
        for dependency in lent {
            do {
                if try place.files?.takeBack(dependency.file) == false { changed.append(dependency) }
            } catch {
                place.warn("the file of job \(dependency.file.lease.job) is checked at its next use: \(error)")
            }
        }
        guard !changed.isEmpty else { return nil }
        let names = changed.map { "\($0.path) (of job \($0.file.lease.job))" }.joined(separator: ", ")
        return ProgramFailure.make(
            ProgramFailure.Code.changedDependency,
            "the program, or another one at the same time, changed \(names), which is the result of another job; let the program copy a file before it changes it, and run that job again, since no job gets the changed file."
        )
    }

    // MARK: The result

    func keep(
        _ work: WorkFolder, _ program: ProgramDefinition, _ ending: AttemptEnding
    ) throws(TryFailure) -> JSONText {
        guard access(work.output, F_OK) == 0 else {
            throw ProgramFailure.make(
                ProgramFailure.Code.noOutput,
                "the program succeeded but did not write its result to {output}; let it write a regular file there.")
        }
        try checkNotAbandoned()
        guard let files = place.files else {
            throw ProgramFailure.make(ProgramFailure.Code.notKept, "this daemon keeps no files; use another result.")
        }
        let kept: JSONText
        do {
            kept = try files.keep(work.output, of: attempt.lease, name: "output").json
        } catch {
            // Any other error is the program's: it wrote something else than a regular file of its own.
            var isRetryable = false
            if case .failed? = error as? JobFilesError { isRetryable = true }
            throw ProgramFailure.make(
                ProgramFailure.Code.notKept, "the result file was not kept: \(error).", isRetryable: isRetryable)
        }
        // Reading a large file takes long. If the attempt is abandoned later, the job's end removes the file.
        do throws(TryFailure) {
            try checkNotAbandoned()
        } catch {
            discard()
            throw error
        }
        return kept
    }

    /// Removes the file that the attempt has kept.
    func discard() {
        do {
            try place.files?.discard(attempt.lease)
        } catch {
            place.warn("the file of a failed attempt remains until the next start: \(error)")
        }
    }
}

/// The file of a dependency that the program has.
struct LentDependency {
    let file: LentFile
    /// The path in the work folder.
    let path: String
}
