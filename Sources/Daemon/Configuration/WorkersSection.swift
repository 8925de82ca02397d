import Definitions
import Jobs
import Settings
import Workers
import YAML

/// Reads the programs under `workers` in the configuration file.
struct WorkersSection {
    private(set) var workers: [DaemonConfiguration.Worker] = []
    /// The line of each key, such as `workers.photos.command`, and of the entries of lists.
    private(set) var lines: [String: (key: Int, entries: [Int])] = [:]
    /// The problems, each with its line.
    private(set) var problems: [(line: Int, text: String)] = []

    static let key = "workers"
    private static let members = ["command", "processes", "attempts", "limits", "environment", "settings"]
    private static let limits = ["memory", "processes", "descriptors"]

    /// - Parameter line: The line of the key `workers`.
    init(_ node: YAMLNode, line: Int) {
        lines[Self.key] = (line, [])
        guard case .mapping(let programs) = node.content else {
            refuse(line, "workers takes the names of workers, indented under it, each with its own keys")
            return
        }
        for program in programs {
            guard let name = name(of: program.name) else { continue }
            let key = "\(Self.key).\(name)"
            lines[key] = (program.name.line, [])
            guard case .mapping(let members) = program.value.content else {
                refuse(program.name.line, "\(key) takes keys under it: \(Self.members.joined(separator: ", "))")
                continue
            }
            if let worker = worker(name, members, key, line: program.name.line) { workers.append(worker) }
        }
    }

    private mutating func refuse(_ line: Int, _ text: String) { problems.append((line, text)) }

    private mutating func name(of node: YAMLNode) -> String? {
        let first = "abcdefghijklmnopqrstuvwxyz0123456789".utf8
        let name = node.scalar?.text ?? ""
        guard let start = name.utf8.first, first.contains(start), name.utf8.count <= 64,
            name.utf8.allSatisfy({ first.contains($0) || "._-".utf8.contains($0) })
        else {
            refuse(
                node.line,
                "the name of a worker has up to 64 lower-case letters, digits, dots, underscores and dashes, and begins with a letter or digit; rename it"
            )
            return nil
        }
        if name == DaemonConfiguration.Worker.builtInName {
            refuse(node.line, "workers.\(name) has the name of the built-in worker; rename it")
            return nil
        }
        return name
    }

    /// Reads all keys of a worker, and reports all their problems.
    private mutating func worker(
        _ name: String, _ members: [YAMLMember], _ key: String, line: Int
    ) -> DaemonConfiguration.Worker? {
        let before = problems.count
        var worker = DaemonConfiguration.Worker(name: name, command: [])
        var hasCommand = false
        for member in members {
            let memberName = member.name.scalar?.text ?? ""
            let own = "\(key).\(memberName)"
            lines[own] = (member.name.line, [])
            switch memberName {
            case "command":
                hasCommand = true
                worker.command = command(member.value, own, line: member.name.line)
            case "processes":
                worker.processes = number(member.value, own, DaemonConfiguration.Worker.processLimits) ?? 1
            case "attempts":
                worker.attempts = number(member.value, own, DaemonConfiguration.Worker.attemptLimits) ?? 1
            case "limits": worker.limits = limits(member.value, own)
            case "environment": worker.environment = environment(member.value, own)
            case "settings": worker.settings = settings(member.value, own)
            default:
                refuse(
                    member.name.line,
                    NearestName.unknown(
                        "key", own, among: Self.members.map { "\(key).\($0)" }, listing: "the keys are"))
            }
        }
        if !hasCommand { refuse(line, "\(key) has no command; write command: [/path/of/the/program]") }
        return problems.count == before ? worker : nil
    }

    // MARK: Values

    private mutating func command(_ node: YAMLNode, _ key: String, line: Int) -> [String] {
        guard case .sequence(let elements) = node.content, !elements.isEmpty else {
            refuse(line, "\(key) takes a list of the program and its arguments; write [/path/of/the/program]")
            return []
        }
        lines[key]?.entries = elements.map(\.line)
        var words: [String] = []
        for (index, element) in elements.enumerated() {
            guard let word = element.scalar?.text, !word.utf8.contains(0) else {
                refuse(element.line, "\(key) accepts only strings in its list")
                continue
            }
            if index == 0, AbsolutePath.parse(word) == nil {
                refuse(element.line, "\(key) begins with \"\(word)\"; write \(AbsolutePath.valid)")
            }
            words.append(word)
        }
        return words
    }

    private mutating func number(_ node: YAMLNode, _ key: String, _ range: ClosedRange<Int>) -> Int? {
        if let number = node.scalar.flatMap({ Int($0.text) }), range.contains(number) { return number }
        let found = node.scalar.map { " is \"\($0.text)\"" } ?? " takes one value"
        refuse(node.line, "\(key)\(found); write a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    private mutating func limits(_ node: YAMLNode, _ key: String) -> WorkerProgram.Limits {
        typealias Limits = WorkerProgram.Limits
        var limits = Limits()
        guard case .mapping(let members) = node.content else {
            refuse(node.line, "\(key) takes limits; write {memory: 2GiB, processes: 64, descriptors: 1024}")
            return limits
        }
        for member in members {
            let name = member.name.scalar?.text ?? ""
            let own = "\(key).\(name)"
            switch name {
            case "memory":
                let range = Limits.memoryRange
                if let size = member.value.scalar.flatMap({ ByteSize($0.text) }), range.contains(size.bytes) {
                    limits.memory = size.bytes
                } else {
                    refuse(member.value.line, "\(own) takes \(ByteSize.validText(in: range))")
                }
            case "processes": limits.processes = number(member.value, own, Limits.processRange) ?? 1
            case "descriptors": limits.descriptors = number(member.value, own, Limits.descriptorRange) ?? 1
            default:
                refuse(
                    member.name.line,
                    NearestName.unknown(
                        "key", own, among: Self.limits.map { "\(key).\($0)" }, listing: "the keys are"))
            }
        }
        return limits
    }

    private mutating func environment(_ node: YAMLNode, _ key: String) -> [String: String] {
        guard case .mapping(let members) = node.content else {
            refuse(node.line, "\(key) takes variables; write {NAME: VALUE}")
            return [:]
        }
        var variables: [String: String] = [:]
        for member in members {
            let name = member.name.scalar?.text ?? ""
            guard !name.isEmpty, !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "=") }) else {
                refuse(member.name.line, "\(key) has a variable without a valid name; write {NAME: VALUE}")
                continue
            }
            guard let value = member.value.scalar?.text, !value.utf8.contains(0) else {
                refuse(member.name.line, "\(key).\(name) takes one string; put it in quotes")
                continue
            }
            variables[name] = value
        }
        return variables
    }

    private mutating func settings(_ node: YAMLNode, _ key: String) -> JSONText {
        guard case .mapping = node.content else {
            refuse(node.line, "\(key) takes the settings of the program; write {name: value}")
            return .emptyObject
        }
        note(node, at: key)
        do throws(DefinitionsProblem) {
            return try node.json(at: key.split(separator: ".").map(String.init))
        } catch {
            refuse(error.line ?? node.line, "\(error.path.joined(separator: ".")): \(error.message)")
            return .emptyObject
        }
    }

    /// Notes the lines of all settings, which the program may refuse.
    private mutating func note(_ node: YAMLNode, at key: String) {
        switch node.content {
        case .scalar: break
        case .sequence(let elements): lines[key]?.entries = elements.map(\.line)
        case .mapping(let members):
            for member in members {
                guard let name = member.name.scalar?.text else { continue }
                lines["\(key).\(name)"] = (member.name.line, [])
                note(member.value, at: "\(key).\(name)")
            }
        }
    }
}
