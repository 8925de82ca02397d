import WebSyntax

/// The addresses of a host that the policy permits.
struct VettedAddresses: Sendable {
    /// The permitted addresses in order of preference; never empty.
    var addresses: [IPAddress]
    /// Whether the first address is permitted only by a rule of the administrator.
    var isOwn: Bool
    /// Waits for the addresses that have not arrived from the name servers yet, and then returns all permitted
    /// addresses. Nil if no more addresses will arrive.
    var rest: (@Sendable () async -> [IPAddress])?
}

extension OutgoingClient {
    /// Looks up the host, and checks each of its addresses against the policy.
    ///
    /// - Throws: The reason why the lookup failed, or why no address is permitted.
    func vettedAddresses(for url: WebURL) async throws(KindFailure) -> VettedAddresses {
        let found: Resolver.Found
        if case .address(let address) = url.host {
            found = Resolver.Found(addresses: [address])
        } else {
            let answer = await lookUp(url.host.lookupName)
            if Task.isCancelled { throw .cancelled }
            do throws(LookupError) { found = try answer.get() } catch { throw .lookup(error, url) }
        }
        let verdict = judge(found.addresses, for: url)
        if !verdict.permitted.isEmpty {
            let rest = found.rest.map { later in { @Sendable in await self.judge(later(), for: url).permitted } }
            return VettedAddresses(addresses: verdict.permitted, isOwn: verdict.isOwn, rest: rest)
        }
        if let later = found.rest {
            let all = judge(await later(), for: url)
            if !all.permitted.isEmpty { return VettedAddresses(addresses: all.permitted, isOwn: all.isOwn) }
        }
        let host = url.host.lookupName
        // The same form as in a rule of `network.allow`.
        let place = host.contains(":") ? "[\(host)]:\(url.port)" : "\(host):\(url.port)"
        throw verdict.isPortAtFault
            ? KindFailure(
                .portRefused, at: url,
                "port \(url.port) is not in the list of allowed ports; "
                    + "the administrator can add it, or allow `\(place)`.")
            : KindFailure(
                .addressRefused, at: url,
                "the host is in a private or special-purpose network; "
                    + "the administrator can allow `\(place)`.")
    }

    private func judge(
        _ addresses: [IPAddress], for url: WebURL
    ) -> (permitted: [IPAddress], isOwn: Bool, isPortAtFault: Bool) {
        let host = url.host.lookupName
        var (permitted, isOwn, isPortAtFault) = ([IPAddress](), false, true)
        for address in addresses {
            switch configuration.policy.judge(host: host, address: address, port: url.port) {
            case .permitted: permitted.append(address)
            case .permittedByRule:
                isOwn = isOwn || permitted.isEmpty
                permitted.append(address)
            case .addressRefused: isPortAtFault = false
            case .portRefused: break
            }
        }
        return (permitted, isOwn, isPortAtFault)
    }
}
