import Foundation

/// A temporary folder for one bench, which is removed at the end.
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
        try? FileManager.default.removeItem(atPath: path)  // A folder that remains does no harm.
    }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
