import Jobs
import Logging
import Testing

@testable import Runner

@Suite struct JobLogTests {
    private func changes(_ count: Int, _ state: JobState, _ cause: JobChange.Cause) -> [JobChange] {
        (1...count).map {
            JobChange(
                job: JobID(Int64($0)), graph: GraphID(7), state: state, attempt: 0, cause: cause,
                input: JSONText(string: "a secret"))
        }
    }

    private func log(_ recorder: LogRecorder, _ level: Logger.Level = .info) -> JobLog {
        var logger = Logger(label: "test") { _ in recorder.handler() }
        logger.logLevel = level
        return JobLog(logger: logger)
    }

    /// Every ended job can be found by its number, however many end at once.
    @Test(arguments: [(JobState.skipped, JobChange.Cause.dependency(JobID(9000))), (.cancelled, .cancelled)])
    func theEndOfEveryJobIsTold(state: JobState, cause: JobChange.Cause) {
        for count in [1, JobLog.maxSeparate, JobLog.maxSeparate + 1, JobLog.jobsInEntry + 1, 2000] {
            let recorder = LogRecorder()
            log(recorder).changed(changes(count, state, cause))
            let entries = recorder.all
            let told = entries.flatMap { entry -> [String] in
                switch entry.metadata["HALYARD_JOB"] {
                case .array(let jobs): jobs.map(\.description)
                case let job?: [job.description]
                case nil: []
                }
            }
            #expect(Set(told).count == count && told.count == count)
            #expect(entries.count == (count <= JobLog.maxSeparate ? count : (count + 499) / 500))
            #expect(entries.allSatisfy { $0.metadata["HALYARD_GRAPH"] == "7" && $0.level == .info })
            #expect(entries.allSatisfy { !"\($0)".contains("secret") })
        }
    }

    @Test func theTextNamesTheJobs() {
        let recorder = LogRecorder()
        log(recorder).changed(changes(5, .skipped, .dependency(JobID(42))))
        log(recorder).changed(changes(1, .cancelled, .cancelled))
        #expect(
            recorder.all.map(\.message) == [
                "jobs 1-5: skipped: the dependency, job 42, did not succeed", "job 1: cancelled before running",
            ])
        #expect("\(JobTitle([9, 1, 2, 3, 7, 8].map(JobID.init(_:)), definition: "enrich"))" == "jobs 1-3, 7-9 (enrich)")
    }

    @Test(arguments: [
        ("no route to https://user.example.org:8443/secret?token=1.", "no route to https://user.example.org:8443/…."),
        (
            "\"http://h/a\" leads to http://h2?q, then (http://h3/x)",
            "\"http://h/…\" leads to http://h2/…, then (http://h3/…)"
        ),
        ("https://ana:s3cret@h:8443/x?y", "https://h:8443/…"),
        ("(ftp://t0ken@h), http://a:p,(w)@@h!", "(ftp://h), http://h!"),
        ("http://h refused", "http://h refused"), ("a :// b", "a :// b"), ("://", "://"), ("", "broken"),
    ])
    func aReasonKeepsNeitherUserNorPathOfAnAddress(message: String, logged: String) {
        #expect(JobFailure(code: "broken", message: message).reason == logged)
    }

    @Test func whatAttemptsDoIsNotToldTwice() {
        let recorder = LogRecorder()
        log(recorder, .debug).changed(
            [JobState.ready, .scheduled, .running, .succeeded, .failed].map {
                JobChange(job: JobID(1), graph: nil, state: $0, attempt: 1)
            })
        #expect(recorder.all.isEmpty)
    }

    @Test func enqueuesAreLoggedAtDebug() {
        let recorder = LogRecorder()
        log(recorder).changed(changes(3, .ready, .accepted))
        #expect(recorder.all.isEmpty)
        log(recorder, .debug).changed(changes(3, .ready, .accepted))
        #expect(recorder.all.map(\.message).first == "job 1: enqueued; it is ready")
        #expect(recorder.all.count == 3 && recorder.all.allSatisfy { $0.level == .debug })
    }
}
