import Jobs
import Testing

/// The names of files that callers sent.
@Suite struct SpooledFileTests {
    @Test(arguments: [
        ("spool:m1-2-3", nil, ""), ("spool:m1-2", nil, ""), ("spool:m1-2-3/", nil, "/"),
        ("spool:m1-2-3/a b.jpg", "a b.jpg", "/a b.jpg"),
        ("spool:m1-2-3/../../etc/passwd", "passwd", "/../../etc/passwd"),
        ("spool:m1-2-3/..", nil, "/.."), ("spool:m1-2-3/.", nil, "/."), ("spool:m1-2-3/x//", "x", "/x//"),
        // A combining character does not join the slash before it.
        ("spool:m1-2-3/\u{301}x", "\u{301}x", "/\u{301}x"), ("spool:M1-2-3/a\0b", nil, "/a\0b"),
    ])
    func aNameIsRead(_ value: String, _ ownName: String?, _ suffix: String) throws {
        let file = try #require(SpooledFile(value))
        #expect(file.ownName == ownName)
        #expect(file.suffix == suffix)
        #expect(file.name == SpoolName(value.dropFirst(6).prefix { $0.isASCII && $0 != "/" }))
        #expect(file.name.keptAt == Timestamp(milliseconds: 22 * 36 + 1))
    }

    @Test(arguments: ["00000000000000000000000000000001", "ffffffffffffffffffffffffffffffff"])
    func aNameContainsTheDaemonThatKeepsTheFile(_ identity: String) throws {
        let name = SpoolName(keptAt: Timestamp(milliseconds: 7)).whole(Fingerprint(), home: identity)
        #expect(name.home == identity)
        #expect(SpoolName(name.text) == name)
        #expect(SpooledFile("spool:\(name.text)/a")?.name.print == name.print)
        #expect(SpoolName(keptAt: Timestamp(milliseconds: 7)).whole(Fingerprint()).home == nil)
    }

    @Test(arguments: [
        "", "spool:", "spool:m1", "spool:-1-2", "spool:m1-+2", "spool:+m1-2", "spool:m1-2-3-4-5", "spool:m1-2-3-",
        "spool:m1--3",
        "spool:m1-2-3+", "spool:m1-2-3.part", "spool:m1-2.part/x", "spool:../m1-2-3", "spool:./m1-2-3", "Spool:m1-2-3",
        " spool:m1-2-3", "spool: m1-2-3", "spool:m1-2-\u{301}3", "spool:/m1-2-3", "spool:zzzzzzzzzzzzzz-1-2",
        "spool:m1-zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz-1", "spool:m1-2-3-zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    ])
    func anythingElseIsNotAFile(_ value: String) {
        #expect(SpooledFile(value) == nil)
    }

    @Test func aNewNameIsRead() throws {
        let new = SpoolName(keptAt: Timestamp(milliseconds: 1_800_000_000_000))
        #expect(new.print == nil)
        var print = Fingerprint()
        print.add([1, 2, 3])
        let whole = new.whole(print)
        for name in [new, whole] { #expect(SpoolName(name.text) == name) }
        #expect(SpooledFile("spool:\(whole.text)/x")?.name == whole)
        #expect(whole.print != nil)
        let unfinished = try #require(SpoolName(new.text + SpoolName.unfinished))
        #expect(unfinished.isUnfinished && !whole.isUnfinished && unfinished.text != new.text)
    }
}
