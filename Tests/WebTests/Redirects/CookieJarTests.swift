import Testing
import WebSyntax

@testable import Web

@Suite struct CookieJarTests {
    @Test func cookiesGoOnlyWhereTheyBelong() throws {
        var jar = CookieJar()
        let site = try WebURL(parsing: "https://www.example.org/a/b")
        jar.take("host=1", from: site)
        jar.take("wide=2; Domain=.example.org; Path=/", from: site)
        jar.take("evil=3; Domain=org", from: site)
        jar.take("other=4; Domain=other.example", from: site)
        jar.take("safe=5; Secure; Path=/", from: site)
        jar.take("bad=x\r\ny: z", from: site)
        #expect(jar.header(for: try WebURL(parsing: "https://www.example.org/a/c")) == "host=1; wide=2; safe=5")
        #expect(jar.header(for: try WebURL(parsing: "http://www.example.org/z")) == "wide=2")
        #expect(jar.header(for: try WebURL(parsing: "https://sub.example.org/a/")) == "wide=2")
        #expect(jar.header(for: try WebURL(parsing: "https://example.net/")) == nil)
        jar.take("wide=; Domain=example.org; Path=/; Max-Age=0", from: site)
        jar.take("host=; Expires=Thu, 01-Jan-1970 00:00:00 GMT", from: site)
        #expect(jar.header(for: try WebURL(parsing: "https://www.example.org/a/c")) == "safe=5")
        jar.take("kept=6; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", from: site)
        #expect(jar.header(for: try WebURL(parsing: "https://www.example.org/a/c")) == "safe=5; kept=6")
        #expect(jar.header(for: try WebURL(parsing: "https://sub.example.org/")) == nil)
    }
}
