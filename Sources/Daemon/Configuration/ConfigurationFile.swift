import Glibc
import Jobs
import Yams

/// The keys of a YAML file with their values as text, and the line each stands on.
struct ConfigurationFile {
    var path: String
    var values: [String: (text: Setting.Text, line: Int)] = [:]
    var problems: [String] = []

    /// No file at all: nothing is set.
    init() { path = "" }

    init(path: String, text: String) {
        self.path = path
        do {
            guard let root = try Yams.compose(yaml: text) else { return }
            guard case .mapping(let mapping) = root else {
                refuse(root, "the file holds no keys; write KEY: VALUE on each line")
                return
            }
            read(mapping, beneath: "")
        } catch let error as YamlError {
            problems.append(ConfigurationFile.describe(error, in: path))
        } catch {
            problems.append("\(path): \(error)")
        }
    }

    private mutating func read(_ mapping: Node.Mapping, beneath prefix: String) {
        for (name, value) in mapping {
            guard case .scalar(let scalar) = name else {
                refuse(name, "a key must be a word")
                continue
            }
            let key = prefix + scalar.string
            if let setting = Setting.all.first(where: { $0.key == key }) {
                read(value, of: setting, at: line(of: name))
            } else if case let inner = Setting.all.filter({ $0.key.hasPrefix(key + ".") }), !inner.isEmpty {
                if case .mapping(let mapping) = value {
                    read(mapping, beneath: key + ".")
                } else {
                    let keys = inner.map(\.key).joined(separator: ", ")
                    refuse(name, "\(key) is a group of keys; write them indented beneath it: \(keys)")
                }
            } else {
                let siblings = Set(
                    Setting.all.filter { $0.key.hasPrefix(prefix) }.map { setting in
                        prefix + setting.key.dropFirst(prefix.count).prefix { $0 != "." }
                    })
                let candidates = siblings.union(Setting.all.map(\.key)).sorted()
                refuse(
                    name,
                    NearestName.unknown("key", key, among: candidates, listing: "the keys are")
                        + (NearestName.nearest(to: key, among: candidates) == nil
                            ? "; remove it, or see the commented file that came with Halyard" : ""))
            }
        }
    }

    private mutating func read(_ value: Node, of setting: Setting, at line: Int) {
        switch value {
        case .scalar(let scalar):
            if value.null != nil {
                return refuse(value, "\(setting.key) has no value; give one, or remove the line")
            }
            values[setting.key] = (.scalar(scalar.string), line)
        case .sequence(let sequence):
            var texts: [String] = []
            for element in sequence {
                guard case .scalar(let scalar) = element else {
                    return refuse(element, "\(setting.key) takes single values in its list")
                }
                texts.append(scalar.string)
            }
            values[setting.key] = (.list(texts), line)
        case .mapping, .alias:
            refuse(value, "\(setting.key) takes \(setting.isList ? "a list" : "one value"), not keys beneath it")
        }
    }

    private mutating func refuse(_ node: Node, _ reason: String) {
        problems.append("\(path):\(line(of: node)): \(reason)")
    }

    private func line(of node: Node) -> Int { node.mark?.line ?? 1 }

    private static func describe(_ error: YamlError, in path: String) -> String {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            "\(path):\(mark.line): this is not YAML: \(problem)"
        case .duplicatedKeysInMapping(let duplicates, let context):
            "\(path):\(context.mark.line): given more than once: \(duplicates.joined(separator: ", ")); keep one"
        default:
            "\(path): this is not YAML: \(error)"
        }
    }
}
