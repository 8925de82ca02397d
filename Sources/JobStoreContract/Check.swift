import Jobs

/// A promise that every store keeps, as a test that needs no test framework.
public struct Check: Sendable, CustomStringConvertible {
    /// The promise as a test's name, such as `aGraphIsEnqueuedWholeOrNotAtAll`.
    public let name: String
    /// Runs the check on stores of the given source. Throws ``Violation`` if a promise was not kept, or an error of the
    /// store.
    public let run: @Sendable (StoreSource) async throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (Workbench) async throws -> Void) {
        self.name = name
        self.run = { source in try await run(Workbench(source)) }
    }

    /// Runs the check for each case, one after another on the same database.
    init<Case: Sendable>(
        _ name: String, each cases: [Case], _ run: @escaping @Sendable (Workbench, Case) async throws -> Void
    ) {
        self.name = name
        self.run = { source in
            for one in cases {
                let bench = try await Workbench(source)
                try await run(bench, one)
                try await bench.end()
            }
        }
    }

    public var description: String { name }

    /// The checks of the promises that a store with these capabilities makes. A correct store passes every one of them.
    public static func all(for capabilities: StoreCapabilities) -> [Check] {
        switch capabilities.holders {
        case .one: ofEveryStore
        case .many: ofEveryStore + ofManyHolders
        }
    }

    /// The promises of every store.
    private static let ofEveryStore: [Check] =
        accepting + starting + claiming + finishing + crashing + suspecting + rooms + graphing + cancelling + rescuing
        + holding + checkpointing + expecting + pruning + settings + scheduling + reading + waiting + observing

    /// The promises of stores that several holders use at once.
    private static let ofManyHolders: [Check] =
        sharing + sharingSettings + sharingCheckpoints + outliving + [aFleetAtRandom]
}

/// The source of a check's stores. All stores of one source open the same database, which begins empty.
public struct StoreSource: Sendable {
    /// The capabilities of the stores of this source; ``JobStore/capabilities`` is the same.
    public let capabilities: StoreCapabilities
    /// Opens the database with clocks that the check controls.
    public let open: @Sendable (any StoreClock) async throws -> any JobStore
    /// Ends a store, which then writes nothing after its last acknowledged write.
    public let end: @Sendable (any JobStore) async throws -> Void

    /// Creates a source. If the stores have many holders, `open` is called again while other stores of the source are
    /// open.
    public init(
        capabilities: StoreCapabilities,
        open: @escaping @Sendable (any StoreClock) async throws -> any JobStore,
        end: @escaping @Sendable (any JobStore) async throws -> Void
    ) {
        self.capabilities = capabilities
        self.open = open
        self.end = end
    }
}

/// A promise that a store did not keep.
public struct Violation: Error, CustomStringConvertible {
    public let description: String
}

func expect(
    _ condition: Bool, _ fact: @autoclosure () -> String, file: StaticString = #fileID, line: Int = #line
) throws {
    if !condition { throw Violation(description: "\(file):\(line): \(fact())") }
}

func expectEqual<Value: Equatable>(
    _ found: Value, _ expected: Value, _ what: @autoclosure () -> String = "", file: StaticString = #fileID,
    line: Int = #line
) throws {
    try expect(found == expected, "\(what()) expected \(expected), found \(found)", file: file, line: line)
}

func unwrap<Value>(
    _ value: Value?, _ what: @autoclosure () -> String = "a value", file: StaticString = #fileID, line: Int = #line
) throws -> Value {
    guard let value else { throw Violation(description: "\(file):\(line): expected \(what()), found nothing") }
    return value
}
