/// A step from one version of the schema to the next. Frozen once it was released.
struct Migration: Sendable {
    let version: Int64
    /// Constant statements, separated by semicolons. They run in one transaction.
    let sql: [String]

    static let all = [m001]
    static let current = all.last!.version
}
