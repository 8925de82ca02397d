import Glibc
import Jobs
import Settings
import YAML

/// The keys of a YAML file, with their values as text and their line numbers.
struct ConfigurationFile {
    var path: String
    var values: [String: Value] = [:]
    var workers: [DaemonConfiguration.Worker] = []
    /// The lines of the keys of ``workers``.
    var workerLines: [String: (key: Int, entries: [Int])] = [:]
    var problems: [String] = []

    struct Value {
        var text: SettingText
        /// The line of the key.
        var line: Int
        /// The line of each entry of a list.
        var entryLines: [Int] = []
    }

    /// Creates the contents of a missing file: nothing is set.
    init() { path = "" }

    init(path: String, text: String) {
        self.path = path
        do throws(YAMLProblem) {
            guard let root = try YAMLNode(text) else { return }
            guard case .mapping(let members) = root.content else {
                refuse(root, "the file contains no keys; write KEY: VALUE on each line")
                return
            }
            read(members, under: "")
        } catch {
            problems.append("\(path):\(error.line): \(error.message)")
        }
    }

    private mutating func read(_ members: [YAMLMember], under prefix: String) {
        for member in members {
            let (name, value) = (member.name, member.value)
            guard let scalar = name.scalar else {
                refuse(name, "a key must be a word")
                continue
            }
            let key = prefix + scalar.text
            if key == WorkersSection.key {
                readWorkers(value, at: name.line)
            } else if let setting = DaemonSetting.all.first(where: { $0.key == key }) {
                read(value, of: setting, at: name.line)
            } else if case let inner = DaemonSetting.all.filter({ $0.key.hasPrefix(key + ".") }), !inner.isEmpty {
                if case .mapping(let members) = value.content {
                    read(members, under: key + ".")
                } else {
                    let keys = inner.map(\.key).joined(separator: ", ")
                    refuse(name, "\(key) is a group of keys; write them indented under it: \(keys)")
                }
            } else {
                let siblings = Set(
                    DaemonSetting.all.filter { $0.key.hasPrefix(prefix) }.map { setting in
                        prefix + setting.key.dropFirst(prefix.count).prefix { $0 != "." }
                    })
                let candidates = siblings.union(DaemonSetting.all.map(\.key)).sorted()
                refuse(
                    name,
                    NearestName.unknown("key", key, among: candidates, listing: "the keys are")
                        + (NearestName.nearest(to: key, among: candidates) == nil
                            ? "; remove it, or see the commented file that came with Halyard" : ""))
            }
        }
    }

    private mutating func readWorkers(_ value: YAMLNode, at line: Int) {
        let section = WorkersSection(value, line: line)
        workers = section.workers
        workerLines = section.lines
        problems += section.problems.map { "\(path):\($0.line): \($0.text)" }
    }

    private mutating func read(_ value: YAMLNode, of setting: DaemonSetting, at line: Int) {
        switch value.content {
        case .scalar(let scalar):
            if scalar.isPlain, ["", "~", "null", "Null", "NULL"].contains(scalar.text) {
                return refuse(value, "\(setting.key) has no value; give one, or remove the line")
            }
            values[setting.key] = Value(text: .scalar(scalar.text), line: line)
        case .sequence(let sequence):
            var texts: [String] = []
            var lines: [Int] = []
            for element in sequence {
                guard let scalar = element.scalar else {
                    refuse(element, "\(setting.key) accepts only single values in its list")
                    continue
                }
                texts.append(scalar.text)
                lines.append(element.line)
            }
            values[setting.key] = Value(text: .list(texts), line: line, entryLines: lines)
        case .mapping:
            refuse(value, "\(setting.key) takes \(setting.isList ? "a list" : "one value"), not keys under it")
        }
    }

    private mutating func refuse(_ node: YAMLNode, _ reason: String) {
        problems.append("\(path):\(node.line): \(reason)")
    }
}
