/// An input that is judged before anything runs with it.
public struct PlannedInput: Sendable, Hashable {
    /// What may still be added to it.
    public enum Stage: Sendable, Hashable {
        /// It is a definition's: jobs add fields of their own.
        case definition
        /// It is that of a job that waits for others: what they give may be added.
        case waiting
        case whole
    }

    /// The kind's name.
    public var kind: String
    /// The definition's fields overlaid by the job's.
    public var input: JSONText
    public var stage: Stage

    public init(kind: String, input: JSONText, stage: Stage) {
        self.kind = kind
        self.input = input
        self.stage = stage
    }

    /// Reads it as a run would.
    ///
    /// - Throws: What does not fit, in words for people.
    package func decoded<Input: Decodable>(as type: Input.Type) throws(InputMismatch) -> Input {
        do {
            return try PayloadCoding.decode(type, from: input)
        } catch {
            throw InputMismatch(description: PayloadCoding.explain(error))
        }
    }
}

package struct InputMismatch: Error { package var description: String }
