import Control
import Jobs
import Kinds
import Testing

@testable import Daemon

@Suite struct InputCheckTests {
    private func problem(_ kind: String, _ input: String) throws -> String? {
        var configuration = DaemonConfiguration()
        configuration.upload.roots = ["/srv/out"]
        configuration.upload.credentialOrigins = [CredentialOrigin("storage=https://s3.example.org")].compactMap(\.self)
        return configuration.problem(of: try JSONText(checking: Array(input.utf8)), kind: kind)?.message
    }

    @Test(arguments: [
        ("unfurl", #"{"url":"ftp://example.org/"}"#, "the scheme \"ftp\" is not http or https"),
        ("enrich", #"{"url":""}"#, "the address is empty"),
        ("enrich", #"{"url":"example.org"}"#, "does not begin with"),
        ("unfurl", #"{"url":"http://example.org:99999/"}"#, "the port is not"),
        ("upload", #"{"to":"not a url","body":"x"}"#, "\"to\": the address does not begin with"),
        ("upload", #"{"to":"https://example.org/x","file":"/etc/passwd"}"#, "The daemon may not send /etc/passwd"),
        (
            "upload", #"{"to":"http://s3.example.org/x?y","body":"x","credential":"storage"}"#,
            "add storage=http://s3.example.org to upload.credential_origins"
        ),
        (
            "upload", #"{"to":"https://s3.example.org:444/x","body":"x","credential":"storage"}"#,
            "The credential storage may not be sent to https://s3.example.org:444"
        ),
        ("upload", #"{"to":"https://s3.example.org/x","body":"x","credential":"none"}"#, "The credential none may not"),
    ])
    func whatCouldNeverWorkIsRefusedBeforeItIsAccepted(kind: String, input: String, message: String) throws {
        #expect(try problem(kind, input)?.contains(message) == true)
    }

    @Test(arguments: [
        ("unfurl", #"{"url":"https://example.org/a b?c=d#e"}"#), ("unfurl", "{}"), ("greet", #"{"url":"ftp://x"}"#),
        ("upload", #"{"to":"http://example.org/x","file":"/srv/out/x"}"#),
        ("upload", #"{"to":"http://example.org/x","file":"spool:abc/x.jpg"}"#),
        ("upload", #"{"to":"https://S3.example.org:443/x","body":"x","credential":"storage"}"#),
    ])
    func whatMayWorkIsNot(kind: String, input: String) throws { #expect(try problem(kind, input) == nil) }
}
