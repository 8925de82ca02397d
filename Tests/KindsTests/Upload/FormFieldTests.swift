import Jobs
import OperationTypes
import Servers
import Testing
import Web

@testable import Kinds

@Suite struct FormFieldTests {
    @Test func fieldsGoInOrderBeforeTheFile() async throws {
        try await LoopbackServer.with { _ in
            .respond(204)
        } _: { server in
            try await withClient { client in
                let input = try PlannedInput(
                    kind: "upload",
                    input: JSONText(
                        trusted: Array(
                            #"""
                            {"to":"\#(server.origin)/","protocol":"form","body":"content","form_field":"file",
                             "form_fields":[{"name":"key","value":"a/b"},{"name":"policy","value":"cG9saWN5"},
                             {"name":"key","value":"two\r\nlines"},{"name":"a\"b","value":""}]}
                            """#.utf8)), stage: .whole
                ).decoded(as: Upload.Input.self)
                _ = try await Upload(client: client).run(input, context: OperationContext())
                let request = try #require(server.requests.first)
                let boundary = try #require(request.header("content-type")?.split(separator: "=").last)
                #expect(
                    String(decoding: request.body, as: UTF8.self) == """
                        --\(boundary)\r
                        content-disposition: form-data; name="key"\r
                        \r
                        a/b\r
                        --\(boundary)\r
                        content-disposition: form-data; name="policy"\r
                        \r
                        cG9saWN5\r
                        --\(boundary)\r
                        content-disposition: form-data; name="key"\r
                        \r
                        two\r
                        lines\r
                        --\(boundary)\r
                        content-disposition: form-data; name="a%22b"\r
                        \r
                        \r
                        --\(boundary)\r
                        content-disposition: form-data; name="file"; filename="body"\r
                        content-type: text/plain; charset=utf-8\r
                        \r
                        content\r
                        --\(boundary)--\r

                        """)
            }
        }
    }

    private typealias Field = Upload.FormField

    @Test func invalidFormFieldsAreRefused() {
        func refusal(_ fields: [Field], _ style: Upload.Input.Style? = .form) -> String? {
            do throws(KindFailure) {
                try Upload.Input(to: "http://h/", style: style, formFields: fields, body: "x").check(at: .whole)
                return nil
            } catch {
                return error.message
            }
        }
        let one = Field(name: "a", value: "b")
        #expect(refusal([one]) == nil)
        #expect(refusal([one], nil)?.contains("is allowed only for the protocol `form`") == true)
        #expect(refusal([one], .tus)?.contains("is allowed only for the protocol `form`") == true)
        #expect(refusal([Field(name: "", value: "b")])?.contains("without a name") == true)
        #expect(refusal([Field(name: "a", value: "\0")])?.contains("U+0000") == true)
        #expect(refusal([Field](repeating: one, count: 101))?.contains("the limits are 100 fields") == true)
        #expect(
            refusal([Field(name: "a", value: String(repeating: "b", count: 65_536))])?.contains("65536 bytes") == true)
    }
}
