import Testing

@testable import Kinds
