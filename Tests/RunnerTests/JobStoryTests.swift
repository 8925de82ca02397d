import Jobs
import Logging
import Synchronization
import Testing

@testable import Runner

@Suite struct JobStoryTests {
    private func enqueues(_ count: Int) -> [JobChange] {
        (1...count).map {
            JobChange(
                job: JobID(Int64($0)), graph: nil, state: .ready, attempt: 0, cause: .accepted,
                input: JSONText(string: "a secret"))
        }
    }

    @Test func aFloodIsShortenedAndThatIsToldOnce() {
        let recorder = LogRecorder()
        let now = Mutex(Duration.zero)
        let story = JobStory(logger: Logger(label: "test") { _ in recorder.handler() }, level: .info) {
            now.withLock { $0 }
        }
        let flood = enqueues(10_000)
        story.changed(flood)
        #expect(recorder.all.count == JobStory.burst + 1)
        #expect(recorder.all.last?.metadata["HALYARD_EVENT"] == "story-shortened")
        // A second later there is room for some more; the rest is left out as before.
        now.withLock { $0 += .seconds(1) }
        story.changed(flood)
        #expect(recorder.all.count == JobStory.burst + 1 + JobStory.perSecond)
        #expect(recorder.all.allSatisfy { !"\($0)".contains("secret") })
        // After a while of quiet, everything is told again.
        now.withLock { $0 += .seconds(60) }
        story.changed(enqueues(3))
        #expect(recorder.all.suffix(3).allSatisfy { $0.message == "job enqueued; it is ready" })
    }

    @Test func whatAttemptsDoIsNotToldTwice() {
        let recorder = LogRecorder()
        let story = JobStory(logger: Logger(label: "test") { _ in recorder.handler() }, level: .info) { .zero }
        story.changed(
            [JobState.ready, .scheduled, .running, .succeeded, .failed].map {
                JobChange(job: JobID(1), graph: nil, state: $0, attempt: 1)
            })
        #expect(recorder.all.isEmpty)
    }

    @Test func nothingIsToldBelowTheThreshold() {
        let recorder = LogRecorder()
        var logger = Logger(label: "test") { _ in recorder.handler() }
        logger.logLevel = .info
        JobStory(logger: logger, level: .debug) { .zero }.changed(enqueues(3))
        #expect(recorder.all.isEmpty)
    }
}
