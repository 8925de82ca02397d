import NIOHTTP1
import Testing

@testable import Web

@Suite struct InterimAnswersTests {
    @Test func interimAnswersAreToldApart() async {
        let answers = InterimAnswers()
        answers.hear(HTTPResponseHead(version: .http1_1, status: .processing))
        #expect(await !answers.waitUntilWanted(atMost: .milliseconds(1)))
        answers.hear(
            HTTPResponseHead(
                version: .http1_1, status: .custom(code: 104, reasonPhrase: ""), headers: ["location": "/u"]))
        #expect(await !answers.waitUntilWanted(atMost: .milliseconds(1)))
        #expect(answers.upload?["location"] == ["/u"])
        answers.hear(HTTPResponseHead(version: .http1_1, status: .continue))
        #expect(await answers.waitUntilWanted(atMost: .seconds(60)))
    }
}
