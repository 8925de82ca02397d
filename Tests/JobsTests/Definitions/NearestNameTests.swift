import Jobs
import Testing

@Suite struct NearestNameTests {
    @Test(arguments: [
        ("titel", "title"), ("TITLE", "title"), ("tile", "title"), ("titles", "title"), ("ulr", "url"),
        ("uploda", "upload"),
        ("uplaod", "upload"), ("descripton", "description"), ("url", "url"),
    ])
    func smallSlipIsRecognized(name: String, meant: String) {
        #expect(NearestName.nearest(to: name, among: ["description", "title", "upload", "url"]) == meant)
    }

    @Test(arguments: ["", "x", "abc", "downland", "timeout", "descr"])
    func whatIsFarIsNotGuessed(name: String) {
        #expect(NearestName.nearest(to: name, among: ["description", "title", "upload", "url"]) == nil)
    }

    @Test func firstOfTheAlphabetWinsAmongEquals() {
        #expect(NearestName.nearest(to: "cat", among: ["rat", "bat"]) == "bat")
    }

    @Test func veryLongNameIsNotCompared() {
        let long = String(repeating: "a", count: 100_000)
        #expect(NearestName.nearest(to: long, among: [long, "a"]) == nil)
    }

    @Test func messageNamesTheNearestOrTheList() {
        #expect(
            NearestName.unknown("field", "titel", among: ["title", "url"])
                == #"unknown field "titel"; did you mean "title"?"#)
        #expect(
            NearestName.unknown("field", "zzz", among: ["url", "title"], listing: "the fields are")
                == #"unknown field "zzz"; the fields are title, url"#)
        #expect(NearestName.unknown("field", "zzz", among: []) == #"unknown field "zzz""#)
    }
}
