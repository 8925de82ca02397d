import Foundation
import Glibc

/// A folder of its own beneath /tmp, removed with all that is in it when the value goes.
final class TemporaryFolder: Sendable {
    let path: String

    struct Failure: Error {
        var call: String
        var code: Int32
    }

    init() throws {
        var template = Array("/tmp/halyard-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(call: "mkdtemp", code: errno) }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    // A folder left behind in /tmp is no failure of the test.
    deinit { try? FileManager.default.removeItem(atPath: path) }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let file = path + "/" + name
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(call: "open", code: errno) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure(call: "write", code: errno)
        }
        return file
    }
}

/// The folder of Package.swift.
let repository = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()
