import Testing

@testable import Definitions
