import NIOHTTP1
import Pages
import Web
import WebSyntax

/// Recognizes pages that a server sends instead of the requested one: robot checks, consent pages, log-in walls, and
/// "not found" pages with a successful status. Jobs fail on such a page, because a failure is better than a wrong
/// result.
enum Wall {
    /// Returns the failure for a page that is a wall, or nil for a page that seems real.
    ///
    /// - Parameter title: The page's title, if it was read.
    /// - Parameter page: The signs found in the page. Without them, an ambiguous title counts only if the status is an
    ///   error.
    static func failure(_ response: OutgoingResponse, title: String?, page: PageSigns? = nil) -> KindFailure? {
        guard
            let what = sign(of: response.headers, status: response.status) ?? place(response.url)
                ?? named(title, page, response.status) ?? consent(title, page, response.url)
        else { return nil }
        return KindFailure(
            .blocked,
            "\(response.url.redacted): the server sent \(what) instead of the page; open the link in a browser.",
            status: response.status, url: response.url)
    }

    /// Whether this title is typical of a wall. Real pages about walls may also have it.
    static func suspects(_ title: String?) -> Bool {
        let title = title?.lowercased() ?? ""
        return [robotTitles, robotWords, missingTitles, missingWords].joined().contains { begins(title, with: $0) }
            || consentTitles.contains { title.hasPrefix($0) }
    }

    private static func sign(of headers: HTTPHeaders, status: Int) -> String? {
        if headers["cf-mitigated"].first?.lowercased() == "challenge" { return "a robot check (Cloudflare)" }
        if let action = headers["x-amzn-waf-action"].first?.lowercased(), action == "challenge" || action == "captcha" {
            return "a robot check (AWS)"
        }
        if status == 403 || status == 429 || status == 405 {
            if headers.contains(name: "x-datadome") || headers.contains(name: "x-dd-b") {
                return "a robot check (DataDome)"
            }
            if headers["server"].first?.lowercased() == "ddos-guard" { return "a robot check (DDoS-Guard)" }
        }
        return status == 999 ? "a login wall" : nil
    }

    private static func place(_ url: WebURL) -> String? {
        let host = url.host.lookupName
        if ["consent.google.com", "consent.youtube.com", "consent.yahoo.com", "guce.yahoo.com", "guce.aol.com"]
            .contains(host)
        {
            return "a consent page"
        }
        if host.hasPrefix("consent.google.") || host.hasSuffix(".consent.yahoo.com") { return "a consent page" }
        if isHost(host, beneath: "google.com"), url.path.hasPrefix("/sorry/") { return "a robot check (Google)" }
        if host == "www.instagram.com" || host == "www.facebook.com",
            url.path.hasPrefix("/accounts/login") || url.path == "/login/"
        {
            return "a login wall"
        }
        if isHost(host, beneath: "linkedin.com"), url.path.hasPrefix("/authwall") || url.path.hasPrefix("/checkpoint/")
        {
            return "a login wall"
        }
        return nil
    }

    private static func isHost(_ host: String, beneath parent: String) -> Bool {
        host == parent || host.hasSuffix("." + parent)
    }

    /// Recognizes a wall by its title and signs. A title alone is not enough, since some real pages are about robot
    /// checks.
    private static func named(_ title: String?, _ page: PageSigns?, _ status: Int) -> String? {
        let title = title?.lowercased() ?? ""
        let isRefusal = status >= 400 || status == 202
        let isSure = robotTitles.contains { begins(title, with: $0) }
        if isSure || robotWords.contains(where: { begins(title, with: $0) }) {
            if isRefusal || isBare(page, isSure: isSure) { return "a robot check" }
        }
        if let page, page.hasChallenge, isBare(page, isSure: true) || isRefusal && !page.describesItself {
            return "a robot check"
        }
        let isSurelyMissing = missingTitles.contains { begins(title, with: $0) }
        guard isSurelyMissing || missingWords.contains(where: { begins(title, with: $0) }), !isRefusal else {
            return nil
        }
        return page?.isUnlisted == true || isBare(page, isSure: isSurelyMissing) ? "a \"not found\" page" : nil
    }

    /// Recognizes a page that only asks for consent and then leads to the requested page.
    private static func consent(_ title: String?, _ page: PageSigns?, _ url: WebURL) -> String? {
        guard let page, !page.describesItself, page.textBytes < 5000 else { return nil }
        let title = title?.lowercased() ?? ""
        let isNamed =
            consentTitles.contains { title.hasPrefix($0) } || url.host.lookupName.hasPrefix("consent.")
            || url.path.lowercased().split(separator: "/").contains { $0.hasSuffix("consent") || $0 == "cookiewall" }
        let leadsBack = url.query?.split(separator: "&").contains { pair in
            let name = pair.prefix { $0 != "=" }
            return PageSigns.ways.contains(name.lowercased())
                && PageSigns.isAddress(String(pair.dropFirst(name.count + 1)))
        }
        return isNamed && (page.hasConsentForm || page.leadsBack || leadsBack == true) ? "a consent page" : nil
    }

    private static func begins(_ title: String, with words: String) -> Bool {
        title == words || [" |", " -", " –"].contains { title.hasPrefix(words + $0) }
    }

    /// Whether the page has almost no content.
    ///
    /// - Parameter isSure: Whether other signs already show that the page is a wall.
    private static func isBare(_ page: PageSigns?, isSure: Bool) -> Bool {
        guard let page else { return isSure }
        return !page.isCut && !page.describesItself && page.textBytes < (isSure || page.hasChallenge ? 1500 : 300)
    }

    private static let robotTitles = [
        "just a moment...", "attention required! | cloudflare", "attention required!",
        "robot or human?", "pardon our interruption", "pardon our interruption...",
        "please verify you are a human", "verify you are human", "checking your browser", "you have been blocked",
        "access to this page has been denied", "access to this page has been denied.",
        "vercel security checkpoint", "performing security verification", "sucuri website firewall",
        "bloomberg - are you a robot?", "making sure you're not a bot!",
    ]

    private static let robotWords = [
        "access denied", "are you a robot?", "robot check", "please wait...", "human verification", "security check",
        "ddos-guard", "one moment, please...", "captcha", "bot verification", "request rejected", "unusual traffic",
        "client challenge",
    ]

    private static let missingTitles = [
        "404 not found", "page not found", "404 page not found", "404 - page not found", "page not found (404)",
        "seite nicht gefunden", "page introuvable", "página no encontrada",
    ]

    private static let missingWords = ["404", "error 404", "404 error", "not found"]

    private static let consentTitles = [
        "before you continue", "before continuing", "bevor sie", "bevor du", "avant de continuer", "avant d’accéder",
        "avant d'accéder", "antes de continuar", "prima di continuare", "voordat je", "cookie consent", "your privacy",
        "we value your privacy", "privacy settings", "consent",
    ]
}
