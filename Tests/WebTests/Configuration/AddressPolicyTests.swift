import Testing
import WebSyntax

@testable import Web

@Suite struct AddressPolicyTests {
    @Test(
        arguments: [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1",
            "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1",
            "::ffff:8.8.8.8",
            "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1",
            "2001:db8::1", "2002:7f00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1",
            "ff02::1",
        ])
    func specialPurposeAddressIsRefused(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(AddressPolicy().judge(host: "h", address: address, port: 443) == .addressRefused)
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "172.32.0.1", "192.0.1.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450::1",
    ])
    func publicAddressIsPermittedAtAllowedPortsOnly(text: String) throws {
        let address = try #require(IPAddress(text))
        let policy = AddressPolicy()
        #expect(policy.judge(host: "h", address: address, port: 443) == .permitted)
        #expect(policy.judge(host: "h", address: address, port: 25) == .portRefused)
    }

    @Test(
        arguments: [
            ("127.0.0.1", "h", "127.0.0.1", 9000, true), ("127.0.0.1:80", "h", "127.0.0.1", 9000, false),
            ("10.0.0.0/8:9000", "h", "10.9.9.9", 9000, true), ("10.0.0.0/8", "h", "11.0.0.1", 9000, false),
            ("[fd00::/8]:443", "h", "fd00::5", 443, true), ("fd00::/8", "h", "fe80::5", 443, false),
            ("nas.lan", "nas.lan", "192.168.0.9", 80, true), ("nas.lan", "other.lan", "192.168.0.9", 80, false),
            ("*.lan:80", "nas.lan", "192.168.0.9", 80, true), ("*.lan", "lan", "192.168.0.9", 80, false),
            ("NAS.lan", "nas.lan", "192.168.0.9", 80, true), ("127.0.0.0/8", "h", "::ffff:127.0.0.1", 80, false),
        ])
    func ruleLiftsExactlyWhatItNames(rule: String, host: String, address: String, port: UInt16, isPermitted: Bool)
        throws
    {
        let policy = AddressPolicy(allow: [try #require(AllowRule(rule))])
        let verdict = policy.judge(host: host, address: try #require(IPAddress(address)), port: port)
        #expect((verdict == .permittedByRule) == isPermitted)
    }

    @Test(arguments: ["", ":80", "10.0.0.0/33", "host:99999", "[::1", "[name]:80", "a b", "*.", "fd00::/129"])
    func malformedRuleIsRefused(text: String) { #expect(AllowRule(text) == nil) }

    @Test func ruleReadsBackAsWritten() {
        for text in ["10.0.0.0/8:8080", "[fd00::/8]:443", "nas.lan:9000", "*.lan", "127.0.0.1/32"] {
            #expect(AllowRule(text)?.description == text)
        }
    }

    @Test func addressTextFollowsRFC5952() {
        for (text, expected) in [
            ("0:0:0:0:0:0:0:0", "::"), ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("0:1:0:0:0:0:0:0", "0:1::"),
            ("1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"), ("2001:DB8::", "2001:db8::"), ("::1.2.3.4", "::102:304"),
        ] { #expect(IPAddress(text)?.description == expected) }
        for text in [
            "1", "1.2.3", "01.2.3.4", "1.2.3.256", "1.2.3.4 ", ":::", "1::2::3", "12345::", "::1%lo", "", "::g",
        ] {
            #expect(IPAddress(text) == nil)
        }
    }
}
