import NetworkAdapters
@preconcurrency import OpenCombine
import Testing

// Apart from the other examples, since OpenCombine has a Future of its own.

@Suite struct PublisherExamples {
    @Test func publishers() async throws {
        let publisher = Shout().publisher("ahoy")
        let subscription = publisher.sink(
            receiveCompletion: { _ in }, receiveValue: { print($0) })
        subscription.cancel()

        let first = AdaptedOperation<Void, Int, ShoutError>(missingValue: .nothingToSay) { _, _ in
            [1, 2, 3].publisher.setFailureType(to: ShoutError.self)
        }
        let value = try await first.value(())
        #expect(value == 1)
    }
}
