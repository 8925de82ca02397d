import ControlProtocol
import Foundation
import Jobs
import SQLiteStore
import Testing

@testable import Commands

/// Definitions and schedules without a running daemon.
@Suite struct OfflineDefinitionTests {
    @Test func definitionsAreAppliedWholeOrNotAtAll() async throws {
        let shop = try await Workshop()
        let exported = try await shop.run("definitions", "export")
        #expect(exported.code == .success)
        let same = try await shop.run("definitions", "apply", "-", input: exported.output)
        #expect(same.code == .success)
        #expect(!same.output.contains("+ ") && !same.output.contains("~ "), "\(same.output)")
        let changed = exported.output.replacing("timeout: 30s", with: "timeout: 1m")
        #expect(changed != exported.output)
        let dry = try await shop.run("definitions", "apply", "--dry-run", "-", input: changed)
        #expect(dry.output.contains("~ definition unfurl"))
        #expect(dry.errors == "halyard: nothing was written (--dry-run)\n")
        #expect(try await shop.run("definitions", "show", "unfurl").output.contains("30s"))
        #expect(try await shop.run("definitions", "apply", try shop.file("d.yaml", changed)).code == .success)
        #expect(try await shop.run("definitions", "show", "unfurl").output.contains("timeout  1m"))
        let wrong = try await shop.run(
            "definitions", "apply", "-", input: changed.replacing("kind: unfurl", with: "kind: unfrl"))
        #expect(wrong.code == .configuration)
        #expect(wrong.errors.contains("unfurl"))
        #expect(try await shop.run("definitions", "apply", "/none.yaml").code == .noInput)
        let lost = try await shop.run("definitions", "remove", "save-link", "unfrl")
        #expect(lost.code == .noInput)
        #expect(lost.errors.hasSuffix("\n  unknown definition \"unfrl\"; did you mean \"unfurl\"?\n"), "\(lost.errors)")
        #expect(try await shop.run("definitions", "list", "--names").output == "unfurl\nupload\nsave-link\n")
        #expect(
            try await shop.run("definitions", "remove", "save-link", "--json").output
                == "{\"removed\":[\"save-link\"]}\n")
        #expect(try await shop.run("definitions", "show", "save-link").code == .noInput)
        #expect(try await shop.run("definitions", "remove", "save-link").code == .noInput)
        _ = try await shop.run(
            "definitions", "apply", "-",
            input: "schedules:\n  nightly: {calendar: daily, definition: unfurl, input: {url: 'http://a/'}}\n")
        let used = try await shop.run("definitions", "remove", "unfurl")
        #expect(used.code == .data)
        #expect(used.errors.contains("is used by the schedule \"nightly\""))
        let schedule = try await shop.run("definitions", "remove", "nightly")
        #expect(schedule.code == .noInput)
        #expect(schedule.errors.contains("halyard schedules remove nightly"))
    }

    @Test(arguments: ["definitions: []\n", "definitions: {}\nqueues: {}\n", "{}"])
    func aDocumentThatHoldsNothingSaysSo(document: String) async throws {
        let run = try await Workshop().run("definitions", "apply", "-", input: document)
        #expect(run.code == .success)
        #expect(run.errors.hasPrefix("halyard: nothing to change: the document is empty\n"), "\(run.errors)")
    }

    @Test func aDocumentThatCannotBeReadSaysWhere() async throws {
        let shop = try await Workshop()
        let empty = try await shop.run("definitions", "apply", "-", input: "# nothing\n")
        #expect(empty.code == .configuration)
        #expect(empty.errors.contains("document is empty"))
        let tab = try await shop.run("definitions", "apply", "-", input: "definitions:\n\tunfurl: {kind: unfurl}\n")
        #expect(tab.code == .configuration)
        #expect(
            tab.errors.contains("ine 2: invalid YAML: a tab is used where only spaces are allowed; indent with spaces"))
        let path = shop.directory.appending(path: "latin.yaml")
        try Data("queues:\n  # f".utf8 + [0xFC] + "r\n".utf8).write(to: path)
        let latin = try await shop.run("definitions", "apply", path.path)
        #expect(latin.code == .data)
        #expect(
            latin.errors
                == "halyard: DIRECTORY/latin.yaml is not UTF-8: line 2 contains the byte 0xFC. Save it as UTF-8.\n")
    }

    @Test func schedulesAreShownInEveryForm() async throws {
        let shop = try await Workshop()
        let document = try shop.file(
            "schedules.yaml",
            """
            schedules:
              nightly:
                summary: Saves a link at night.
                calendar: [Mon..Fri 03:00 UTC, "*-*~01 12:00 Europe/Berlin"]
                definition: unfurl
                input: {url: http://a/}
                persistent: true
            """)
        let applied = try await shop.run("definitions", "apply", document)
        #expect(applied.output == "+ schedule nightly\n")
        // The schedule was stored when its calendar still had future times.
        let past = #"{"name":"past","calendar":"2020-01-01 UTC","definition":"unfurl","input":{"url":"http://b/"}}"#
        try await shop.withStore { store in
            let schedule = try Schedule(json: JSONText(checking: Array(past.utf8)), at: [])
            try await store.change(DefinitionChange(schedules: [schedule]), now: Samples.now)
        }
        #expect(try await shop.run("schedules", "run", "nightly").output == "1\n")
        #expect(try await shop.run("schedules", "pause", "past", "--json").code == .success)
        for verb in [["schedules"], ["schedules", "show", "nightly"]] {
            let name = verb.joined(separator: "-")
            try Golden.expect(try await shop.run(verb).output, "verbs/\(name).txt")
            try Golden.expect(try await shop.run(verb + ["--json"]).output, "verbs/\(name).json")
        }
        for verb in ["pause", "remove"] {
            let run = try await shop.run("schedules", verb, "nightly", "nightlo", "pats", "past")
            #expect(run.code == .noInput)
            #expect(
                run.errors == """
                    halyard: Nothing was changed, because there is no such schedule. See: halyard schedules list
                      unknown schedule "nightlo"; did you mean "nightly"?
                      unknown schedule "pats"; did you mean "past"?

                    """)
        }
        #expect(try await shop.run("schedules").output.contains("nightly"))
        #expect(!(try await shop.run("schedules", "show", "nightly")).output.contains("paused"))
        let unknown = try await shop.run("schedules", "pause", "nightli")
        #expect(unknown.code == .noInput)
        #expect(unknown.errors.contains("did you mean \"nightly\"?"))
        #expect(try await shop.run("schedules", "show", "nightlo").code == .noInput)
        let removed = try await shop.run("schedules", "remove", "nightly", "past")
        #expect(removed.errors.contains("removed nightly") && removed.code == .success)
        #expect(try await shop.run("schedules", "--json").output == "[]\n")
    }

    @Test func expressionsAreTriedWithoutADatabase() async throws {
        let shop = try await Workshop()
        let run = try await shop.run("schedules", "next", "Mon..Fri 09:00 Europe/Berlin", "@1784973601", "--count", "3")
        try Golden.expect(run.output, "verbs/schedules-next.txt")
        let json = try await shop.run("schedules", "next", "2020-01-01 UTC", "--json")
        #expect(json.output == "{\"calendar\":[\"2020-01-01 00:00:00 UTC\"],\"times\":[]}\n")
        // A single expression is not repeated in each line, and one time may match several expressions.
        let one = try await shop.run("schedules", "next", "*-*-* 12:00 UTC", "--count", "1")
        #expect(one.output == "*-*-* 12:00:00 UTC\n  Sat 2026-07-25 12:00:00 UTC (in 2h)\n")
        let both = try await shop.run("schedules", "next", "*-*-* 12:00 UTC", "Sat 12:00 UTC", "--count", "1")
        #expect(
            both.output.hasSuffix(
                "  Sat 2026-07-25 12:00:00 UTC (in 2h)  *-*-* 12:00:00 UTC, Sat *-*-* 12:00:00 UTC\n"), "\(both.output)"
        )
        let wrong = try await shop.run("schedules", "next", "Mon 25:00")
        #expect(wrong.code == .data)
        #expect(wrong.errors.contains("column 5: expected an hour from 0 to 23, found \"25:00\""))
        #expect(try await shop.run("schedules", "next", "daily Nowhere").code == .data)
    }
}
