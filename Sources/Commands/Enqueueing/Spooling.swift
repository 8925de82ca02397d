import ControlProtocol
import Glibc
import Jobs

/// Prepares the caller's files for a job: makes their paths absolute, or copies them into the daemon's spool.
struct Spooling {
    var session: Session

    private static let prefix = SpooledFile.prefix
    static let standardInput = "-"

    /// Copies the files of some inputs and enqueues all inputs. No verb removes a copy from the spool, so a
    /// failure mentions the copies that remain there.
    func enqueue(
        _ inputs: [ResolvedInput], copying indices: some Sequence<Int>,
        by enqueue: ([ResolvedInput]) async throws -> SubmissionAnswer
    ) async throws -> SubmissionAnswer {
        var inputs = inputs
        var copies = 0
        do {
            for index in indices {
                var input: ResolvedInput? = inputs[index]
                try await copy(&input)
                if let input { inputs[index] = input }
                copies += 1
            }
            let answer = try await enqueue(inputs)
            if case .refused(let problem) = answer { throw problem }
            return answer
        } catch let failure as CommandFailure {
            throw Self.mentioning(copies, failure)
        } catch let problem as ControlProblem {
            throw Self.mentioning(copies, CommandFailure(problem))
        }
    }

    private static func mentioning(_ copies: Int, _ failure: CommandFailure) -> CommandFailure {
        var failure = failure
        if copies > 0 {
            failure.details.append(
                "\(AmountText.count(copies, "file")) already copied into the spool; files that no job uses are deleted after a day."
            )
        }
        return failure
    }

    func absolute(_ input: ResolvedInput) throws -> ResolvedInput {
        var changed: ResolvedInput? = input
        try makeAbsolute(&changed)
        return changed ?? input
    }

    /// Makes paths absolute, since the daemon has another working directory. Refuses missing files. If the path
    /// is absolute and a daemon runs, only prints a note, since the daemon may see files that this user cannot.
    ///
    /// - Parameter mayComeLater: Whether the job starts later, so that the file may be created by then.
    func makeAbsolute(_ input: inout ResolvedInput?, mayComeLater: Bool = false) throws {
        guard var changed = input else { return }
        for file in changed.files where !file.path.hasPrefix(Self.prefix) && file.path != Self.standardInput {
            try refuseFolder(file.path)
            if file.path.hasPrefix("/") {
                // The daemon may see files that this user may not, or file systems that are mounted only for
                // the daemon.
                if !mayComeLater, access(file.path, F_OK) != 0, errno == ENOENT || errno == ENOTDIR {
                    guard session.isDaemon else { throw InputFile.failure(errno, file.path) }
                    try session.note("\(file.path) does not exist here; the daemon will look for it")
                }
                let path = Self.withoutParents(file.path)
                if path != file.path { changed.object[file.field] = JSONText(string: path) }
                continue
            }
            guard access(file.path, F_OK) == 0 else { throw InputFile.failure(errno, file.path) }
            guard let here = session.surroundings.workingDirectory() else {
                throw CommandFailure(
                    .noInput, "The working directory no longer exists. Give the absolute path of \(file.path).")
            }
            changed.object[file.field] = JSONText(
                string: Self.withoutParents(Self.clean(here + "/" + file.path)))
        }
        input = changed
    }

    /// Whether the input names standard input, which only this process can read.
    static func mustCopy(_ input: ResolvedInput?) -> Bool {
        input?.files.contains { $0.path == standardInput } ?? false
    }

    /// Streams the files into the daemon's spool, and replaces their paths with the names there, followed by
    /// the files' own names.
    func copy(_ input: inout ResolvedInput?) async throws {
        guard var changed = input else { return }
        for file in changed.files where !file.path.hasPrefix(Self.prefix) {
            try await session.requireDaemon("Copying a file into the spool")
            try refuseEndless(file.path)
            let source = try InputFile(file.path, in: session.surroundings)
            let name = try await session.control.spool(FilePieces(file: source), size: source.size)
            let ownName = file.path == Self.standardInput ? "" : "/" + (file.path.split(separator: "/").last ?? "")
            changed.object[file.field] = JSONText(string: name + ownName)
        }
        input = changed
    }

    private func refuseFolder(_ path: String) throws {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else { return }
        var failure = InputFile.failure(EISDIR, path)
        failure.message += " To send the files of a folder: halyard upload \(path) --to URL"
        throw failure
    }

    /// Refuses a device or a pipe, since it may have no end. Standard input is accepted, whatever it is.
    private func refuseEndless(_ path: String) throws {
        var facts = stat()
        guard path != Self.standardInput, stat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG,
            facts.st_mode & S_IFMT != S_IFDIR
        else { return }
        throw CommandFailure(
            .noInput, "\(path) is not a regular file. Name a file, or give - and pipe the data to standard input.")
    }

    /// Replaces the beginning of an absolute path, up to its last `..`, by the folder to which it leads, since the daemon
    /// accepts no `..`. The path stays unchanged if this user cannot see that folder.
    private static func withoutParents(_ path: String) -> String {
        let names = path.split(separator: "/")
        guard let last = names.lastIndex(of: "..") else { return path }
        guard let real = realpath("/" + names[...last].joined(separator: "/"), nil) else { return path }
        defer { free(real) }
        guard let folder = String(validatingCString: real) else { return path }
        return clean("\(folder)/" + names[(last + 1)...].joined(separator: "/"))
    }

    /// Removes `.` and empty parts. `..` stays, because a symbolic link may precede it.
    private static func clean(_ path: String) -> String {
        "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}
