import Testing
import WebSyntax

@testable import Web

@Suite struct RefreshTests {
    @Test(
        arguments: [
            ("0;url=/b", "http://h/b"), ("5; URL = '/b' x", "http://h/b"), ("0,/b", "http://h/b"),
            ("0 /b", "http://h/b"),
            ("1.5;url=\"/b\"", "http://h/b"), (".5;url=b", "http://h/b"), ("6;url=/b", nil), ("0", nil),
            ("x;url=/b", nil),
            ("0;url=", nil), ("0;url=javascript:alert(1)", nil), ("0;url=/a", "http://h/a"), ("0url=/b", nil),
        ] as [(String, String?)])
    func refreshIsReadAsTheStandardSays(text: String, target: String?) throws {
        #expect(Refresh.target(in: text, base: try WebURL(parsing: "http://h/a"))?.description == target)
    }
}
