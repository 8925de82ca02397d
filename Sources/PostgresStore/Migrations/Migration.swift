/// A step from one version of the schema to the next. Frozen once it was released.
///
/// Daemons of the previous release keep working while it runs, and after it. So a migration only adds tables, and
/// columns with defaults, and no statement depends on the number of columns. The functions that daemons call keep their
/// parameters. The functions of each release must understand the plans of the other, since a daemon of either release
/// may write all plans again.
struct Migration: Sendable {
    let version: Int64
    /// Constant statements, separated by semicolons. They run in one transaction.
    let sql: [String]

    static let all = [m001]
    static let current = all.last!.version
    /// The oldest version whose release works with the current schema, also during the migration. The previous release
    /// must work with it, unless the changelog says that all daemons must be stopped for the upgrade.
    static let oldest: Int64 = 1
}
