import Testing

@testable import Jobs
