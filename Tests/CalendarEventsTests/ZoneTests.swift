@testable import CalendarEvents
import Foundation
import Testing

@Suite struct ZoneTests {
    /// Compares zones with the C library at random times until 2199.
    @Test func zonesAgreeWithTheCLibrary() throws {
        let names = [
            "UTC", "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/Sao_Paulo", "Africa/Casablanca",
            "Asia/Kolkata", "Asia/Tehran", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "America/Nuuk",
            "Antarctica/Troll", "EST5EDT", "Etc/GMT+12", "Asia/Gaza",
        ]
        let seed = UInt64.random(in: 0..<1_000_000)
        var random = Drawing(seed: seed)
        for name in names {
            let zone = try Zone(named: name)
            let foundation = try #require(TimeZone(identifier: name))
            for _ in 0..<300 {
                // Foundation's rules end in 2037.
                let second = random.below(2_145_000_000)
                let date = Date(timeIntervalSince1970: TimeInterval(second))
                #expect(
                    zone.wall(at: second * 1_000_000).microseconds / 1_000_000 - second
                        == foundation.secondsFromGMT(for: date), "\(name) at \(second), seed \(seed)")
            }
        }
    }

    @Test(arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "Europe/Berlin"),
        ("EST5EDT,M3.2.0,M11.1.0", "America/New_York"),
        ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "Australia/Lord_Howe"),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "Europe/Dublin"),
        ("<-03>3", "America/Sao_Paulo"),
    ])
    func aRuleIsTheZoneItDescribes(rule: String, name: String) throws {
        let ruled = Zone.local(environment: rule)
        let zone = try Zone(named: name)
        for day in 20_820..<31_000 {
            let noon = day * 86_400_000_000 + 43_200_000_000
            #expect(ruled.wall(at: noon) == zone.wall(at: noon), "\(noon)")
        }
    }

    /// POSIX allows offsets of up to 24 hours; RFC 8536 allows transition times of up to 167 hours.
    @Test(arguments: [
        ("ABC24", true), ("ABC-24:59:59", true), ("ABC25", false), ("ABC100DEF", false), ("ABC5DEF25", false),
        ("ABC5DEF,M3.2.0/167,M11.1.0/-167", true), ("ABC5DEF,M3.2.0/168,M11.1.0", false),
    ])
    func anOffsetIsAtMostADay(rule: String, isValid: Bool) {
        #expect((ZoneRule(rule) != nil) == isValid)
        #expect((Zone.local(environment: rule).name == "UTC") == !isValid)
    }

    /// Each local time occurs or is skipped, whatever the offsets of the zone.
    @Test func everyLocalTimeIsShownOrSkipped() {
        let hour = 3600
        func period(_ offset: Int) -> Zone.Period {
            Zone.Period(offset: offset, isDaylight: false, abbreviation: "X")
        }
        let zone = Zone(
            name: "test", initial: period(-100 * hour),
            [(at: 0, period(100 * hour)), (at: 500 * hour, period(-90 * hour))])
        for second in stride(from: -300 * hour, to: 800 * hour, by: hour) {
            switch zone.moments(showing: WallTime(microseconds: second * 1_000_000)) {
            case .at(let moments):
                for moment in moments {
                    #expect(zone.wall(at: moment.microseconds).microseconds == second * 1_000_000)
                }
            case .skipped(let to): #expect(to.microseconds == 100 * hour * 1_000_000)
            }
        }
    }

    @Test func theEnvironmentNamesTheLocalZone() {
        #expect(Zone.local(environment: ":America/New_York").name == "America/New_York")
        #expect(Zone.local(environment: "/usr/share/zoneinfo/Asia/Tokyo").text(0) == "Thu 1970-01-01 09:00:00 JST")
        #expect(Zone.local(environment: "").name == "UTC")
        #expect(Zone.local(environment: "nonsense").name == "UTC")
    }

    @Test func damagedFilesAreRefused() throws {
        let file = [UInt8](try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin")))
        var reader = ZoneFile(file)
        _ = try reader.zone(named: "whole")
        // Reading a truncated file throws; it never returns a zone or traps.
        for count in 0..<file.count {
            var reader = ZoneFile(Array(file.prefix(count)))
            #expect(throws: ZoneFile.Problem.self) { try reader.zone(named: "cut at \(count)") }
        }
        var random = Drawing(seed: 7)
        for _ in 0..<2000 {
            var changed = file
            for _ in 0...random.below(3) { changed[random.below(file.count)] = UInt8(random.below(256)) }
            var reader = ZoneFile(changed)
            // Damage may go unnoticed, but must not trap.
            if let zone = try? reader.zone(named: "damaged") { _ = zone.wall(at: 1_700_000_000_000_000) }
        }
    }
}
