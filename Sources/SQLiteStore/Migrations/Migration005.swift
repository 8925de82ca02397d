import SQLite

extension Migration {
    /// A definition of the kind `program` names its executable, its arguments and what they mean, and an attempt records
    /// the resources that its processes used.
    static let m005 = Migration(
        version: 5,
        steps: [
            .sql("ALTER TABLE definition ADD COLUMN program TEXT"), .sql("ALTER TABLE attempt ADD COLUMN usage TEXT"),
        ])
}
