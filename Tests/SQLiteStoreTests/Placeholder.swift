import Testing

@testable import SQLiteStore
