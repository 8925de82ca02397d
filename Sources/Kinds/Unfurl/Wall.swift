import NIOHTTP1

/// Recognises what stands in front of a page: robot checks, consent pages, log-in walls, and "not found" that calls itself a
/// success. Better no answer than a wrong one.
enum Wall {
    /// - Parameter title: Of the page, if it was read.
    static func failure(_ response: OutgoingResponse, title: String?) -> KindFailure? {
        guard
            let what = sign(of: response.headers, status: response.status) ?? place(response.url)
                ?? named(title, response.status)
        else { return nil }
        return KindFailure(
            .blocked, "\(response.url.redacted): \(what) stands in front of the page; open the link in a browser.",
            status: response.status, url: response.url)
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
        return status == 999 ? "a log-in wall" : nil
    }

    private static func place(_ url: WebURL) -> String? {
        let host = url.host.lookupName
        if ["consent.google.com", "consent.youtube.com", "consent.yahoo.com", "guce.yahoo.com", "guce.aol.com"]
            .contains(host)
        {
            return "a consent page"
        }
        if host.hasPrefix("consent.google.") || host.hasSuffix(".consent.yahoo.com") { return "a consent page" }
        if host.hasSuffix("google.com"), url.path.hasPrefix("/sorry/") { return "a robot check (Google)" }
        if host == "www.instagram.com" || host == "www.facebook.com",
            url.path.hasPrefix("/accounts/login") || url.path == "/login/"
        {
            return "a log-in wall"
        }
        if host.hasSuffix("linkedin.com"), url.path.hasPrefix("/authwall") || url.path.hasPrefix("/checkpoint/") {
            return "a log-in wall"
        }
        return nil
    }

    private static func named(_ title: String?, _ status: Int) -> String? {
        guard let title = title?.lowercased() else { return nil }
        if robotTitles.contains(where: { title == $0 || title.hasPrefix($0 + " |") || title.hasPrefix($0 + " -") }) {
            return "a robot check"
        }
        let isMissing = missingTitles.contains {
            title == $0 || title.hasPrefix($0 + " |") || title.hasPrefix($0 + " -") || title.hasPrefix($0 + " –")
        }
        return isMissing && (200..<300).contains(status) ? "a \"not found\" page" : nil
    }

    private static let robotTitles = [
        "just a moment...", "attention required! | cloudflare", "attention required!", "access denied",
        "are you a robot?",
        "robot check", "robot or human?", "pardon our interruption", "pardon our interruption...", "please wait...",
        "please verify you are a human", "verify you are human", "human verification", "security check", "ddos-guard",
        "one moment, please...", "checking your browser", "captcha", "bot verification", "you have been blocked",
        "access to this page has been denied", "access to this page has been denied.", "request rejected",
        "unusual traffic",
        "vercel security checkpoint", "client challenge", "performing security verification", "sucuri website firewall",
        "bloomberg - are you a robot?", "making sure you're not a bot!",
    ]

    private static let missingTitles = [
        "404", "404 not found", "error 404", "page not found", "404 page not found", "404 - page not found",
        "not found",
        "404 error", "page not found (404)", "seite nicht gefunden", "page introuvable", "página no encontrada",
    ]
}
