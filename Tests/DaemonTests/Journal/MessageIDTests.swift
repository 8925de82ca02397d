import Foundation
import Testing

@testable import Daemon

@Suite struct MessageIDTests {
    /// Each event is explained to journalctl -x, under the identifier that its entries carry.
    @Test func theCatalogExplainsEveryEvent() throws {
        let catalog = try String(contentsOfFile: repository + "/systemd/halyard.catalog", encoding: .utf8)
        let explained = catalog.split(separator: "\n").filter { $0.hasPrefix("-- ") }.map { String($0.dropFirst(3)) }
        #expect(explained.sorted() == MessageID.byEvent.values.sorted())
        #expect(Set(explained).count == explained.count)
    }
}
