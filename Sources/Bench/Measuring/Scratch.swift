import Foundation

/// A folder of its own for one bench, removed at its end.
struct Scratch: ~Copyable {
    let path: String

    init(in folder: String = FileManager.default.temporaryDirectory.path) throws {
        var template = Array("\(folder)/halyard-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BenchError("cannot make a folder: \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func file(_ name: String) -> String { path + "/" + name }

    deinit {
        try? FileManager.default.removeItem(atPath: path)  // Left in the temporary directory it harms nobody.
    }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
