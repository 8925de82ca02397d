import ArgumentParser
import Control
import Jobs

extension Halyard {
    struct Upload: Verb {
        static let configuration = CommandConfiguration(
            commandName: "upload", abstract: "Enqueue the upload of files and folders, one job a file, as one graph.",
            discussion: """
                Every regular file beneath a folder becomes a job; links, devices and names that are not UTF-8 are left \
                out. In the address, {path} stands for the file's path in its folder (or its name), percent-encoded; no \
                two files may get the same address, unless the server gives each its own (POST, form, tus, resumable). \
                All jobs are accepted, or none.

                Files that lie outside the daemon's roots are copied into its spool.

                  halyard upload photos --to https://files.example.org/in/{path}
                  halyard upload *.mkv --to https://tus.example.org/files/ --set protocol=tus
                  halyard upload dump.tar --to https://s3.example.org/backups/{path} --set protocol=s3 --set credential=store
                """)

        @Argument(help: "Files and folders.", completion: .file())
        var paths: [String]

        @Option(help: ArgumentHelp("Where they go; {path} stands for the path of each.", valueName: "address"))
        var to: String

        @Option(
            name: .customLong("set"),
            help: ArgumentHelp("Set another input field of every job. May be repeated.", valueName: "field=value"))
        var assignments: [String] = []

        @Option(help: ArgumentHelp("The definition, of the kind upload.", valueName: "name"))
        var definition = "upload"

        @Option(help: ArgumentHelp("The queue, instead of the definition's.", valueName: "name"))
        var queue: String?

        @Option(help: ArgumentHelp("The priority, instead of the definition's.", valueName: "priority"))
        var priority: Priority?

        @Option(
            help: ArgumentHelp(
                "A name of your own for this request: repeating it enqueues nothing more.", valueName: "key"))
        var key: String?

        @Flag(help: "Copy the files into the daemon's spool, also those it could read itself.")
        var copy = false

        @OptionGroup var waiting: WaitOptions
        @OptionGroup var common: CommonOptions

        private static let mark = "{path}"
        /// With these the server gives each upload an address of its own.
        private static let protocolsWithOneAddress = ["tus", "resumable", "form"]

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            let tree = try FileTree(paths)
            if tree.leftOut > 0 {
                try surroundings.note(
                    "\(AmountText.count(tree.leftOut, "name")) left out: no regular file")
            }
            if tree.unnameable > 0 {
                try surroundings.note("\(AmountText.count(tree.unnameable, "name")) left out: not UTF-8")
            }
            guard !tree.files.isEmpty else {
                throw CommandFailure(.noInput, "There is no regular file in \(paths.joined(separator: ", ")).")
            }
            return try await Session.with(common, for: .writing, in: surroundings) { session in
                let definitions = try await session.control.definitions()
                let fields = try TypedInput(base: nil, assignments: assignments + ["to=\(to)"], arguments: [])
                    .resolve(for: definition, in: definitions)?.object
                let common = fields ?? JSONObject()
                let files = Spooling(session: session, surroundings: surroundings)
                let inputs = try tree.files.map { file in try files.absolute(input(for: file, common)) }
                if !isOneAddressEnough(common, definitions) { try refuseSameAddress(tree.files) }
                let enqueue = { inputs in try await self.enqueue(inputs, session) }
                var answer: SubmissionAnswer
                if copy {
                    answer = try await files.enqueue(inputs, copying: inputs.indices, by: enqueue)
                } else {
                    answer = try await enqueue(inputs)
                    if case .refused(let problem) = answer, problem.code == .outsideRoots {
                        let outside = try await RootsQuestion(session: session, definition: definition).outside(inputs)
                        answer = try await files.enqueue(inputs, copying: outside, by: enqueue)
                    }
                }
                let receipt = try answer.tell(isJSON: self.common.json, in: surroundings)
                if !session.isDaemon {
                    try surroundings.note("the daemon will read the files itself, which must lie beneath its roots")
                }
                try surroundings.output.flush()
                try session.noteWritten(in: surroundings, willRun: true)
                return try await Waiting(session, surroundings, self.common, waiting.follow).wait(for: receipt, waiting)
            }
        }

        private func input(for file: FileTree.File, _ common: JSONObject) -> ResolvedInput {
            var object = common
            object["file"] = JSONText(string: file.path)
            object["to"] = JSONText(string: address(for: file))
            return ResolvedInput(object: object, files: [.init(field: "file", path: file.path)])
        }

        private func address(for file: FileTree.File) -> String {
            to.replacing(Self.mark, with: Self.encoded(file.place))
        }

        /// Jobs run side by side: of two that write to one address either could be lost.
        private func refuseSameAddress(_ files: [FileTree.File]) throws {
            var first: [String: String] = [:]
            for file in files {
                guard let other = first.updateValue(file.path, forKey: address(for: file)) else { continue }
                let remedy =
                    to.contains(Self.mark)
                    ? "Name the folder that holds both, or upload each to an address of its own."
                    : "Write \(Self.mark) into it."
                throw CommandFailure(
                    .usage, "\(other) and \(file.path) would both go to \(address(for: file)). \(remedy)")
            }
        }

        /// Whether each upload to it makes something new.
        private func isOneAddressEnough(_ common: JSONObject, _ set: DefinitionSet) -> Bool {
            let defaults = set.definitions.first { $0.definition.name == definition }?.definition.input
            let fields = (defaults.flatMap(JSONObject.init) ?? JSONObject()).overlaid(by: common)
            let style = fields["protocol"]?.decodedString ?? "plain"
            return Self.protocolsWithOneAddress.contains(style)
                || style == "plain" && fields["method"]?.decodedString == "POST"
        }

        private func enqueue(_ inputs: [ResolvedInput], _ session: Session) async throws -> SubmissionAnswer {
            let jobs = inputs.map { JobRequest(definition: definition, input: $0.object.text) }
            let submission = Submission(.jobs(jobs, name: nil), queue: queue, priority: priority, key: key)
            guard let answer = try await session.control.enqueue([submission]).first else {
                throw CommandFailure(.software, "The daemon gave no answer to the submission. Check with: halyard list")
            }
            return answer
        }

        /// Each byte that is not unreserved in an address, or a slash.
        private static func encoded(_ place: String) -> String {
            let digits = Array("0123456789ABCDEF".utf8)
            var output: [UInt8] = []
            for byte in place.utf8 {
                let isPlain =
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "-._~/".utf8.contains(byte)
                output += isPlain ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
            return String(decoding: output, as: UTF8.self)
        }
    }
}
