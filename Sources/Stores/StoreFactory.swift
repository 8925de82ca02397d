import Jobs

/// Finds the store for an address. Only this target knows which stores there are.
public enum StoreFactory {
    /// The ways in which a process uses a database.
    public enum Use: Sendable, Hashable {
        /// As a daemon, for as long as it runs.
        case lasting
        /// For one request.
        case brief
    }

    /// Returns the way to the database at an address; opens nothing.
    ///
    /// - Parameters:
    ///   - server: The settings for a database on a server.
    ///   - clock: A clock that replaces the server's clock, for tests; nil to use the server's clock.
    public static func opening(
        _ address: DatabaseAddress, for use: Use, onServer server: ServerSettings, clock: (any StoreClock)? = nil
    ) -> any StoreOpening {
        switch address {
        case .file(let path): FileOpening(path: path, for: use)
        case .postgresql(let url): ServerOpening(url: url, for: use, server, clock: clock)
        }
    }

    /// Reads an address and returns the way to its database; opens nothing.
    ///
    /// - Throws: ``StoreOpenFailure`` if the text is not an address.
    public static func opening(
        at text: String, for use: Use, onServer server: ServerSettings, clock: (any StoreClock)? = nil
    ) throws(StoreOpenFailure) -> any StoreOpening {
        let address: DatabaseAddress
        do throws(DatabaseAddressProblem) {
            address = try DatabaseAddress(text)
        } catch {
            let clause = error.description
            throw StoreOpenFailure(.wrong, clause.prefix(1).uppercased() + clause.dropFirst() + ".")
        }
        return opening(address, for: use, onServer: server, clock: clock)
    }
}
