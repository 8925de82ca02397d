/// Extracts the names of people from lines that announce them: `By Ada Lovelace and Charles Babbage | May 3`.
enum Bylines {
    /// Returns the names in a byline; empty if the line does not read like one.
    static func people(in line: String) -> [String] {
        let (text, isAnnounced) = announcement(in: line)
        return names(in: text, isAnnounced: isAnnounced)
    }

    /// Returns the names in a line that no markup marks as a byline. The line must begin like a byline, and every name
    /// must look like a person's; otherwise the result is empty.
    static func announced(in line: String) -> [String] {
        let (text, isAnnounced) = announcement(in: line)
        guard isAnnounced else { return [] }
        let names = names(in: text, isAnnounced: true)
        return names.allSatisfy(looksLikePerson) ? names : []
    }

    /// Returns the text after the words that announce names, and whether there were such words. The text is empty if
    /// the line is a web address.
    private static func announcement(in line: String) -> (text: String, isAnnounced: Bool) {
        var text = CharacterReferences.decode(line).tidied
        if text.has("://") || text.hasPrefix("www.") || text.hasPrefix("/") { return ("", false) }
        var isAnnounced = false
        if let rest = afterDate(text) { (text, isAnnounced) = (rest, true) }
        while let rest = withoutPrefix(text) { (text, isAnnounced) = (rest, true) }
        return (text, isAnnounced)
    }

    private static func names(in text: String, isAnnounced: Bool) -> [String] {
        // The date may come first: `May 3, 2024 • Ada Lovelace`.
        let segments = text.split { "|•·–—\u{2022}".contains($0) }.map { $0.tidied }.filter { !$0.isEmpty }
        for segment in segments.prefix(3) {
            let names = names(inSegment: segment, isAnnounced: isAnnounced)
            if !names.isEmpty { return names }
            guard WildDate.iso(segment) != nil else { break }
        }
        return []
    }

    private static func names(inSegment segment: String, isAnnounced: Bool) -> [String] {
        var text = segment
        let ends = [" on ", ", Updated", " (", " is a ", " is an ", " is the ", " ist ", ", is a "]
        for end in ends { text = cut(text, before: end) }
        if isAnnounced { text = cut(text, before: " in ") }
        text = withoutDay(text)
        var parts = [text]
        for mark in [" and ", " & ", " und ", " et ", " y ", ";", " / "] {
            parts = parts.flatMap { $0.parts(separatedBy: mark) }
        }
        var names: [String] = []
        for part in parts.map({ $0.tidied.trimmingMarks }) {
            // `Lovelace, Ada` is one name; `Ada Lovelace, Charles Babbage` are two.
            let pieces = part.split(separator: ",").map { $0.tidied }.filter { !$0.isEmpty }
            let isList = pieces.count > 1 && pieces.allSatisfy { $0.contains(" ") }
            for piece in isList ? pieces : [pieces.count == 2 && !pieces[0].contains(" ") ? part : pieces.first ?? ""]
            where isName(piece) { names.append(piece) }
        }
        return names
    }

    private static func cut(_ text: String, before end: String) -> String {
        guard let before = text.cut(at: end)?.before, !before.isEmpty else { return text }
        return before.tidied
    }

    /// Phrases that announce a name. Longer ones come first, so that the longest match wins.
    private static let prefixes =
        [
            "view all posts by", "posts by", "post by", "more from", "written by", "posted by", "published by",
            "reported by", "words by", "story by", "article by", "review by", "guest post by", "by", "author",
            "authors",
            "author(s)", "von", "text von", "text und fotos von", "geschrieben von", "veröffentlicht von",
            "gespeichert von", "verfasst von", "erstellt von", "eingestellt von", "gepostet von", "ein beitrag von",
            "beitrag von", "ein gastbeitrag von", "gastbeitrag von", "ein artikel von", "artikel von", "interview von",
            "autor", "autorin", "autoren", "autor/in", "autor*in", "autor_in", "autor:in", "par", "publié par",
            "écrit par", "rédigé par", "proposé par", "auteur", "por", "escrito por", "publicado por", "di",
            "scritto da",
            "pubblicato da", "autore", "door", "geschreven door", "submitted by", "submitted",
        ].sorted { $0.utf8.count > $1.utf8.count }
    /// Words that announce a name only if a colon follows.
    private static let labels = ["text", "words", "story", "redaktion", "foto & text", "text & foto", "di", "da"]

    /// Returns the text after an announcing phrase and its space or colon; nil if the text does not begin with one.
    private static func withoutPrefix(_ text: String) -> String? {
        let start = text.prefix(40).lowercased()
        func rest(after prefix: String, _ marks: String) -> String? {
            guard start.utf8.starts(with: prefix.utf8) else { return nil }
            var rest = text.dropFirst(prefix.count)
            let space = rest.prefix { $0 == " " }
            rest = rest.dropFirst(space.count)
            if rest.first == ":" {
                rest = rest.dropFirst()
            } else if !marks.contains(" ") || space.isEmpty {
                return nil
            }
            return rest.tidied
        }
        return prefixes.lazy.compactMap { rest(after: $0, " :") }.first
            ?? labels.lazy.compactMap { rest(after: $0, ":") }.first
    }

    /// Returns the text after the date in a line like `Posted on May 3, 2024 by Ada Lovelace`; nil for other lines.
    private static func afterDate(_ text: String) -> String? {
        guard text.filter(\.isNumber).count >= 3 else { return nil }
        for word in [" by ", " von ", " par ", " por "] {
            guard let (before, after) = text.cut(at: word), before.utf8.contains(where: { (0x30...0x39).contains($0) })
            else { continue }
            if WildDate.iso(before) != nil { return after.tidied }
        }
        return nil
    }

    /// Returns the text without a date after the name: `Ada Lovelace am 3. Mai`, `Ada Lovelace January 10`.
    private static func withoutDay(_ text: String) -> String {
        for word in [" am ", " le ", " el ", " em ", " op ", " il "] {
            if let (before, after) = text.cut(at: word), after.first?.isNumber == true { return before.tidied }
        }
        let words = text.split(separator: " ")
        for (index, word) in words.enumerated().dropFirst(2) {
            let next = index + 1 < words.count ? words[index + 1] : ""
            let isMonth = next.first?.isNumber == true && WildDate.isMonth(word.lowercased().filter(\.isLetter))
            if word.first?.isNumber == true || isMonth { return String(text[..<word.startIndex]).tidied }
        }
        return text
    }

    private static let noise: Set<String> = [
        "admin", "administrator", "editor", "author", "guest", "staff", "user", "webmaster", "root", "unknown",
        "anonymous", "none", "null", "undefined", "about the author", "contributor", "view the website", "more posts",
        "see all posts", "follow", "share", "contact", "view all posts", "profile", "home", "about", "website",
        "facebook", "twitter", "linkedin", "email", "redaktion", "the editors", "gastautor", "gastbeitrag", "kommentar",
        "kommentare", "comments", "published", "updated", "posted", "news",
    ]

    private static func isName(_ text: String) -> Bool {
        let lower = text.lowercased()
        guard (2...80).contains(text.utf8.count), text.contains(where: \.isLetter), !noise.contains(lower),
            !prefixes.contains(lower)
        else { return false }
        guard text.split(separator: " ").count <= 7, text.filter(\.isNumber).count <= 3,
            !text.contains("@") || text.hasPrefix("@")
        else { return false }
        // `Submitted on Monday` announces a day, not a name.
        if text.hasPrefix("on ") || text.hasPrefix("at ") { return false }
        return !text.hasSuffix("?") && !text.hasSuffix("!")
    }

    private static let particles: Set<String> = [
        "von", "van", "der", "den", "de", "la", "le", "du", "da", "di", "dos", "del", "el", "bin", "al", "zu", "y",
        "ten",
    ]

    /// Whether the name consists of two or three capitalized words, possibly with particles such as `von` between them.
    static func looksLikePerson(_ name: String) -> Bool {
        let words = name.split(separator: " ")
        guard (2...3).contains(words.filter { !particles.contains(String($0)) }.count), words.count <= 5,
            !name.contains(where: { $0.isNumber || ":;?!\"„“”@#".contains($0) }),
            words.first?.first?.isUppercase == true, words.last?.first?.isUppercase == true
        else { return false }
        return words.allSatisfy { $0.first?.isUppercase == true || particles.contains(String($0)) }
    }
}

extension String {
    /// The text without the spaces and punctuation at its ends that separate it from other text.
    fileprivate var trimmingMarks: String {
        var text = Substring(self)
        while let last = text.last, " -–—:,;/|·•(".contains(last) { text = text.dropLast() }
        while let first = text.first, " -–—:,;/|·•)".contains(first) { text = text.dropFirst() }
        return String(text)
    }
}
