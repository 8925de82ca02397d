import Testing

@testable import OperationTypes
