import Testing

@testable import API
