/// An input that is checked before any job runs with it.
public struct PlannedInput: Sendable, Hashable {
    /// The parts that may still be added to an input.
    public enum Stage: Sendable, Hashable {
        /// The input of a definition. Jobs add their own fields.
        case definition
        /// The input of a job that waits for others. Their outputs may be added.
        case waiting
        /// The complete input of a job.
        case whole
    }

    /// The name of the kind that will receive the input.
    public var kind: String
    /// The definition's fields, overlaid by the job's fields.
    public var input: JSONText
    /// The parts that may still be added.
    public var stage: Stage
    /// The program of the definition; nil unless the kind is ``ProgramDefinition/kind``.
    public var program: ProgramDefinition?

    /// Creates a planned input.
    public init(kind: String, input: JSONText, stage: Stage, program: ProgramDefinition? = nil) {
        self.kind = kind
        self.input = input
        self.stage = stage
        self.program = program
    }

    /// Decodes the input in the same way as the kind does when it runs.
    ///
    /// - Throws: ``InputDecodingProblem``, which explains to people what does not fit.
    public func decoded<Input: Decodable>(as type: Input.Type) throws(InputDecodingProblem) -> Input {
        do {
            return try PayloadCoding.decode(type, from: input)
        } catch {
            throw InputDecodingProblem(description: PayloadCoding.explain(error))
        }
    }
}

/// The reason why an input could not be decoded, as a clause for people.
public struct InputDecodingProblem: Error, Hashable, CustomStringConvertible { public let description: String }

/// The reason why a kind refuses an input before any job runs with it.
public struct InputRefusal: Sendable, Hashable {
    /// The reasons for a refusal. A caller gets a different error for each, since each needs a different remedy.
    public enum Reason: Sendable, Hashable {
        /// A field is missing or invalid.
        case invalid
        /// A field names a file that the daemon may not read. The program `halyard` then sends the file's content to
        /// the daemon instead.
        case fileOutsideRoots
        /// A field names a credential that may not be sent to its address.
        case credentialRefused
    }

    /// The reason for the refusal.
    public var reason: Reason
    /// The problem and its remedy, in complete sentences for people.
    public var message: String

    /// Creates a refusal. Default: the input is invalid.
    public init(_ message: String, reason: Reason = .invalid) {
        self.reason = reason
        self.message = message
    }
}
