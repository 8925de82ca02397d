/// The answer to a statement that was put off.
public final class Answer {
    /// The rows; nil until the server has answered.
    public internal(set) var rows: Rows?
}
