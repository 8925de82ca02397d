import SQLite

extension Migration {
    /// An attempt records the resources that its processes used.
    static let m005 = Migration(version: 5, steps: [.sql("ALTER TABLE attempt ADD COLUMN usage TEXT")])
}
