/// A step from one version of the schema to the next. Frozen once it was released.
///
/// Daemons of the previous release work on while it runs, and after it. So it only adds, with defaults, and no statement
/// depends on how many columns a table has. The functions that daemons call keep their parameters, and each release's
/// functions read the plans that the other release's daemons have compiled, since any of them may write all plans again.
struct Migration: Sendable {
    let version: Int64
    /// Constant statements, separated by semicolons. They run in one transaction.
    let sql: [String]

    static let all = [m001]
    static let current = all.last!.version
    /// The oldest version whose release works with the current schema, also while it is migrated. It must include the
    /// previous release, unless the changelog says that all daemons must be stopped for the upgrade.
    static let oldest: Int64 = 1
}
