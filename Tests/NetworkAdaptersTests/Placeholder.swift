import Testing

@testable import NetworkAdapters
