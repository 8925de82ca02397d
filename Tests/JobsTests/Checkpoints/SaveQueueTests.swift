import Jobs
import Testing

@Suite struct SaveQueueTests {
    private static func value(_ number: Int) -> JSONText { JSONText(integer: Int64(number)) }

    @Test func q1OneValueIsSavedAtATime() {
        var queue = SaveQueue<String>()
        #expect(queue.isIdle)
        #expect(queue.add(Self.value(1), "a") == .save(Self.value(1)))
        #expect(queue.add(Self.value(2), "b") == .wait)
        #expect(!queue.isIdle)
        var answer = queue.answered()
        #expect(answer.waiters == ["a"])
        #expect(answer.next == Self.value(2))
        #expect(!queue.isIdle)
        answer = queue.answered()
        #expect(answer.waiters == ["b"])
        #expect(answer.next == nil)
        #expect(queue.isIdle)
        #expect(queue.add(Self.value(3), "c") == .save(Self.value(3)))
    }

    @Test func q2OnlyTheNewestOfTheWaitingValuesIsSaved() {
        var queue = SaveQueue<String>()
        _ = queue.add(Self.value(1), "a")
        for (number, waiter) in [(2, "b"), (3, "c"), (4, "d")] {
            #expect(queue.add(Self.value(number), waiter) == .wait)
        }
        #expect(queue.answered().next == Self.value(4))
        #expect(queue.answered().waiters == ["b", "c", "d"])
    }

    @Test func q4AClosedQueueRefusesValuesAndAnswersTheOnesItHas() {
        var queue = SaveQueue<String>()
        _ = queue.add(Self.value(1), "a")
        _ = queue.add(Self.value(2), "b")
        queue.close()
        #expect(queue.add(Self.value(3), "c") == .refuse)
        #expect(queue.answered().next == Self.value(2))
        #expect(queue.answered().waiters == ["b"])
        #expect(queue.isIdle)
    }

    @Test func q4AValueThatWaitsCanBeDropped() {
        var queue = SaveQueue<String>()
        _ = queue.add(Self.value(1), "a")
        _ = queue.add(Self.value(2), "b")
        let dropped = queue.closeAndDropWaiting()
        #expect(dropped?.value == Self.value(2))
        #expect(dropped?.waiters == ["b"])
        #expect(queue.closeAndDropWaiting() == nil)
        let answer = queue.answered()
        #expect(answer.waiters == ["a"])
        #expect(answer.next == nil)
        #expect(queue.add(Self.value(3), "c") == .refuse)
    }
}
