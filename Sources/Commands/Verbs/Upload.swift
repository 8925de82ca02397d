import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Upload: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "upload", abstract: "Enqueue uploads of files and folders as one graph, one job per file.",
            discussion: """
                Every regular file in a folder and its subfolders becomes a job; symbolic links, devices and names that are not \
                UTF-8 are skipped and listed. A link named on the command line is followed. - is standard input, which has no \
                name for {path}. In the address, {path} is replaced by the file's path in its folder (or its name), \
                percent-encoded; two files must not get the same address, unless the server chooses the address (POST, form, \
                tus, resumable). Either all jobs are accepted or none.

                Files outside the daemon's roots are copied into its spool.

                  halyard upload photos --to https://files.example.org/in/{path}
                  halyard upload *.mkv --to https://tus.example.org/files/ --set protocol=tus
                  halyard upload dump.tar --to https://s3.example.org/backups/{path} --set protocol=s3 --set credential=store
                """)

        @Argument(help: "Files and folders.", completion: .file())
        var paths: [String]

        @Option(
            help: ArgumentHelp("Destination address; {path} is replaced by each file's path.", valueName: "address"),
            transform: AddressTemplate.read)
        var to: AddressTemplate

        @Option(
            name: .customLong("set"),
            help: ArgumentHelp("Set another input field of every job; may be repeated.", valueName: "field=value"))
        var assignments: [String] = []

        @Option(help: ArgumentHelp("A definition of the kind upload.", valueName: "name"))
        var definition = "upload"

        @Flag(help: "Copy the files into the daemon's spool even if the daemon can read them.")
        var copy = false

        @OptionGroup var options: SubmissionOptions
        @OptionGroup var waiting: WaitOptions
        @OptionGroup var common: CommonOptions

        /// The protocols with which the server gives each upload its own address.
        private static let protocolsWithOneAddress = ["tus", "resumable", "form"]

        func validate() throws {
            for text in assignments {
                if text.hasPrefix("file=") {
                    throw ValidationError(
                        "--set \(text) cannot be used with upload: the files are its arguments. Omit it.")
                }
                if text.hasPrefix("to=") {
                    throw ValidationError("--set \(text) cannot be used with upload: --to is the address. Omit it.")
                }
            }
        }

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            let tree = try FileTree(paths)
            try report(tree, surroundings)
            if to.hasMark, tree.files.contains(where: \.isStandardInput) {
                throw CommandFailure(
                    .usage,
                    "Standard input has no name for \(AddressTemplate.mark). Upload it separately, to a complete address."
                )
            }
            guard !tree.files.isEmpty else {
                throw CommandFailure(.noInput, "There is no regular file in \(paths.joined(separator: ", ")).")
            }
            return try await Session.with(common, for: .writing, in: surroundings) { session in
                let definitions = try await session.definitions(for: definition)
                let fields = try TypedInput(
                    base: nil, assignments: assignments + ["to=\(to.address(of: tree.files[0]))"], arguments: []
                )
                .resolve(for: definition, in: definitions)?.object
                let common = fields ?? JSONObject()
                let files = Spooling(session: session)
                let inputs = try tree.files.map { file in try files.absolute(input(for: file, common)) }
                if !isOneAddressEnough(common, definitions) { try refuseSameAddress(tree.files) }
                let enqueue = { inputs in try await self.enqueue(inputs, session) }
                var answer: SubmissionAnswer
                if copy {
                    answer = try await files.enqueue(inputs, copying: inputs.indices, by: enqueue)
                } else if tree.files.contains(where: \.isStandardInput) {
                    // Standard input can be read only once, so first ask which of the other files must be
                    // copied.
                    var indices = tree.files.indices.filter { tree.files[$0].isStandardInput }
                    let others = tree.files.indices.filter { !tree.files[$0].isStandardInput }
                    indices += try await RootsQuestion(session: session, definition: definition)
                        .outside(others.map { inputs[$0] }).map { others[$0] }
                    answer = try await files.enqueue(inputs, copying: indices, by: enqueue)
                } else {
                    answer = try await enqueue(inputs)
                    if case .refused(let problem) = answer, problem.code == .outsideRoots {
                        let outside = try await RootsQuestion(session: session, definition: definition).outside(inputs)
                        answer = try await files.enqueue(inputs, copying: outside, by: enqueue)
                    }
                }
                let receipt = try answer.report(in: session)
                if !session.isDaemon {
                    try surroundings.note("the daemon will read the files itself; they must be inside its roots")
                }
                try await session.noteWritten(willRun: true)
                return try await session.wait(for: receipt, waiting)
            }
        }

        private static let maxNamed = 10

        private func report(_ tree: FileTree, _ surroundings: Surroundings) throws {
            for (link, real) in tree.followed { try surroundings.note("\(link) is a link; uploading \(real)") }
            guard !tree.leftOut.isEmpty else { return }
            try surroundings.note("\(AmountText.count(tree.leftOut.count, "name")) left out:")
            for name in tree.leftOut.prefix(Self.maxNamed) {
                try surroundings.errors.line("  \(name.path) (\(name.reason))")
            }
            if tree.leftOut.count > Self.maxNamed {
                try surroundings.errors.line("  and \(tree.leftOut.count - Self.maxNamed) more")
            }
            try surroundings.errors.flush()
        }

        private func input(for file: FileTree.File, _ common: JSONObject) -> ResolvedInput {
            var object = common
            object["file"] = JSONText(string: file.path)
            object["to"] = JSONText(string: to.address(of: file))
            return ResolvedInput(object: object, files: [.init(field: "file", path: file.path)])
        }

        /// Refuses two files with the same address. Jobs run at the same time, so either file could be
        /// overwritten.
        private func refuseSameAddress(_ files: [FileTree.File]) throws {
            var first: [String: String] = [:]
            for file in files {
                guard let other = first.updateValue(file.path, forKey: to.address(of: file)) else { continue }
                let remedy =
                    to.hasMark
                    ? "Name the folder that contains both, or upload each to its own address."
                    : "Write \(AddressTemplate.mark) into it."
                throw CommandFailure(
                    .data, "\(other) and \(file.path) would both be uploaded to \(to.address(of: file)). \(remedy)")
            }
        }

        /// Whether each upload to the same address creates a new resource.
        private func isOneAddressEnough(_ common: JSONObject, _ set: DefinitionSet) -> Bool {
            let defaults = set.definitions.first { $0.definition.name == definition }?.definition.input
            let fields = (defaults.flatMap(JSONObject.init) ?? JSONObject()).overlaid(by: common)
            let style = fields["protocol"]?.decodedString ?? "plain"
            return Self.protocolsWithOneAddress.contains(style)
                || style == "plain" && fields["method"]?.decodedString == "POST"
        }

        private func enqueue(_ inputs: [ResolvedInput], _ session: Session) async throws -> SubmissionAnswer {
            let jobs = inputs.map { JobRequest(definition: definition, input: $0.object.text) }
            return try await session.enqueue(
                Submission(
                    .jobs(jobs, name: nil), queue: options.queue, priority: options.priority, key: options.key))
        }
    }
}
