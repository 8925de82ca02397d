/// The answer to a reload that was carried out.
public struct ReloadReport: Sendable, Hashable {
    /// The worker programs that cannot run now, each as a sentence with its place in the configuration. Their jobs wait.
    public var problems: [String]

    /// Creates a report.
    public init(problems: [String] = []) { self.problems = problems }
}
