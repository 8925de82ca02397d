import Jobs
import Testing

@Suite struct JobFailureTests {
    @Test func whatAnOperationSaysIsKeptAsItIs() {
        let failure = JobFailure(code: "x", message: "why", detail: .emptyObject)
        #expect(failure.code == "x")
        #expect(failure.message == "why")
        #expect(failure.detail?.string == "{}")
    }

    /// An operation may quote a whole response. It must neither fill the database nor make the end impossible to record.
    @Test func whatIsTooLargeIsCutAtACharacter() throws {
        let failure = JobFailure(
            code: String(repeating: "c", count: 1000), message: String(repeating: "é😀", count: 1_000_000),
            detail: try JSONText(checking: Array("\"\(String(repeating: "d", count: 70_000))\"".utf8)))
        // A code is an identifier, also when it was cut.
        #expect(failure.code == String(repeating: "c", count: 100))
        #expect(failure.message.utf8.count <= JobFailure.maxMessageBytes)
        #expect(failure.message.utf8.count > JobFailure.maxMessageBytes - 8)
        #expect(failure.message.hasSuffix("…"))
        #expect(failure.message.dropLast().allSatisfy { $0 == "é" || $0 == "😀" })
        #expect(failure.detail == nil)
    }
}
