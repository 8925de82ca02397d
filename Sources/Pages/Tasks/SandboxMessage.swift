import FoundationEssentials

/// The messages between a program and its sandbox.
///
/// A request consists of the lengths of question and document (four bytes each, little-endian), the question in JSON,
/// and the document. The response consists of the answer's length (four bytes) and the answer in JSON.
package enum SandboxMessage {
    package static let maxQuestion = 64 << 10
    package static let maxDocument = 32 << 20
    package static let maxAnswer = 16 << 20

    package enum FormatProblem: Error {
        /// The question cannot be encoded, is invalid, or names no known task.
        case question
        /// The answer cannot be encoded or is invalid.
        case answer
    }

    private struct Question<Task: DocumentTask>: Codable {
        var name: String
        var task: Task
    }

    private struct Name: Codable { var name: String }

    package static func question<Task: DocumentTask>(_ task: Task) throws(FormatProblem) -> [UInt8] {
        do {
            return Array(try JSONEncoder().encode(Question(name: Task.name, task: task)))
        } catch {
            throw .question
        }
    }

    /// Decodes a question, runs its task on the document, and returns the encoded answer.
    package static func answer(_ question: [UInt8], _ document: [UInt8]) throws(FormatProblem) -> [UInt8] {
        let data = Data(question)
        let name = try decode(Name.self, data).name
        let tasks: [any DocumentTask.Type] = [DescribeTask.self, HeadTask.self, SignsTask.self, MeasureTask.self]
        guard let task = tasks.first(where: { $0.name == name }) else { throw .question }
        return try answer(data, document, task)
    }

    private static func answer<Task: DocumentTask>(
        _ question: Data, _ document: [UInt8], _: Task.Type
    ) throws(FormatProblem) -> [UInt8] {
        let answer = try decode(Question<Task>.self, question).task.read(document)
        do { return Array(try JSONEncoder().encode(answer)) } catch { throw .answer }
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ question: Data) throws(FormatProblem) -> Value {
        do { return try JSONDecoder().decode(type, from: question) } catch { throw .question }
    }

    package static func length(_ count: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } }

    package static func count(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }
}
