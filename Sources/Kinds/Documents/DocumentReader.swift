import FoundationEssentials
import NIOCore
import NIOPosix
import Synchronization

/// Reads what servers sent: pages, pictures, PDF.
///
/// Such bytes may be made to bring a parser down, or to take it over. A program that lives on reads them in helpers:
/// processes of its own that can do nothing but compute (``Place/thisProgram``). A document can end its helper, or keep
/// it busy until the deadline; the program goes on, and that document's job fails as `document_unreadable`.
public final class DocumentReader: Sendable {
    public enum Place: Sendable, Hashable {
        /// In this process: for programs that end with their work.
        case here
        /// In helpers started with this command: a program that calls ``DocumentHelper/runIfAsked()`` first.
        case helper(command: [String])

        /// In helpers that are further copies of the running program, which has called ``DocumentHelper/runIfAsked()``.
        public static var thisProgram: Place { .helper(command: ["/proc/self/exe", DocumentHelper.word]) }
    }

    /// A helper that has read so many is ended, and the next document starts another one.
    static let documentsPerHelper = 1000
    /// A helper that had nothing to do for so long is ended.
    static let idleLimit: TimeAmount = .seconds(30)

    private let place: Place
    private let deadline: Duration
    /// One thread for each helper that may be at work.
    private let threads: NIOThreadPool
    private struct Idle {
        var helpers: [HelperProcess] = []
        /// Whether somebody will look for those that were idle for long.
        var isWatched = false
    }

    private let idle = Mutex(Idle())

    /// - Parameters:
    ///   - place: In this process unless set.
    ///   - deadline: For one document. 5 s unless set; an honest one takes milliseconds.
    public init(_ place: Place = .here, deadline: Duration = .seconds(5)) {
        self.place = place
        self.deadline = deadline
        threads = NIOThreadPool(numberOfThreads: max(1, min(System.coreCount, 8)))
        threads.start()
    }

    deinit {
        // Nothing is at work any more: work holds its reader.
        threads.shutdownGracefully { _ in }
    }

    /// Tells what a document at hand says about itself, as `enrich` does with one it fetched.
    ///
    /// - Parameters:
    ///   - bytes: The document, or its beginning.
    ///   - address: Where it comes from; what it points to is resolved against it.
    ///   - contentType: As the server named it; nil to let the bytes tell.
    /// - Throws: `invalid_url`, `document_unreadable`, `helper_failed`. Nothing was changed; asking again is safe.
    public func describe(
        _ bytes: [UInt8], from address: String, contentType: String?
    ) async throws(KindFailure) -> Enrich.Output {
        let url = try WebURL(input: address, field: "address")
        return try await read(DescribeTask(url: "\(url)", contentType: contentType), bytes, at: url)
    }

    /// Ends the helpers that have nothing to do, and waits until they are gone. The next document starts another one.
    public func endIdleHelpers() {
        let ended = idle.withLock { idle in
            defer { idle.helpers = [] }
            return idle.helpers
        }
        // Outside of the lock.
        withExtendedLifetime(ended) {}
    }

    /// Idle helpers, for tests.
    var idleHelpers: [Int32] { idle.withLock { $0.helpers.map(\.id) } }

    func read<Task: DocumentTask>(_ task: Task, _ bytes: [UInt8], at url: WebURL) async throws(KindFailure)
        -> Task.Answer
    {
        let result: Result<Task.Answer, KindFailure>
        do throws(CancellationError) {
            result = try await threads.runAbandoningOnCancel { [self] in
                Result { () throws(KindFailure) in try readNow(task, bytes, at: url) }
            }
        } catch {
            throw .cancelled
        }
        return try result.get()
    }

    private func readNow<Task: DocumentTask>(_ task: Task, _ bytes: [UInt8], at url: WebURL) throws(KindFailure)
        -> Task.Answer
    {
        guard case .helper(let command) = place else { return task.read(bytes) }
        let answer: [UInt8]
        do throws(HelperProblem) {
            // A copy of a program that knows nothing of helpers would do that program's work once more.
            if place == .thisProgram, !DocumentHelper.isOffered { throw .notOffered }
            answer = try ask(command, try HelperMessage.question(task), bytes)
        } catch {
            throw KindFailure(error, at: url)
        }
        do {
            return try JSONDecoder().decode(Task.Answer.self, from: Data(answer))
        } catch {
            // A helper that answers otherwise is not in its right mind; it was ended with this document.
            throw KindFailure(.brokenAnswer, at: url)
        }
    }

    private func ask(_ command: [String], _ question: [UInt8], _ bytes: [UInt8]) throws(HelperProblem) -> [UInt8] {
        let kept = idle.withLock { $0.helpers.popLast() }
        do throws(HelperProblem) {
            let helper = if let kept { kept } else { try HelperProcess(command) }
            let answer = try helper.exchange(question, bytes, within: deadline)
            keep(helper)
            return answer
        } catch {
            // One that was kept may have ended since, through no fault of this document.
            guard kept != nil, error == .ended else { throw error }
        }
        let helper = try HelperProcess(command)
        let answer = try helper.exchange(question, bytes, within: deadline)
        keep(helper)
        return answer
    }

    private func keep(_ helper: HelperProcess) {
        guard helper.documents < Self.documentsPerHelper else { return }
        let needsWatch = idle.withLock { idle in
            idle.helpers.append(helper)
            defer { idle.isWatched = true }
            return !idle.isWatched
        }
        if needsWatch { endIdleHelpersLater() }
    }

    private func endIdleHelpersLater() {
        MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: Self.idleLimit) { [weak self] in
            guard let self else { return }
            let limit = ContinuousClock.now - .nanoseconds(Self.idleLimit.nanoseconds)
            let (ended, isWatched) = idle.withLock { idle in
                let ended = idle.helpers.filter { $0.usedAt <= limit }
                idle.helpers.removeAll { $0.usedAt <= limit }
                idle.isWatched = !idle.helpers.isEmpty
                return (ended, idle.isWatched)
            }
            // Ends them outside of the lock.
            withExtendedLifetime(ended) {}
            if isWatched { endIdleHelpersLater() }
        }
    }
}

extension KindFailure {
    fileprivate init(_ problem: HelperProblem, at url: WebURL) {
        switch problem {
        case .notStarted(let code):
            self.init(
                .helperFailed,
                "The helper that reads documents cannot be started (\(String(cString: strerror(code)))); "
                    + "check the limits of processes and memory.", isRetryable: true, url: url)
        case .notOffered:
            self.init(
                .helperFailed,
                "Documents are to be read in copies of this program, which does not offer that; "
                    + "call DocumentHelper.runIfAsked() first in its main.", url: url)
        case .noSandbox:
            self.init(
                .helperFailed,
                "The helper that reads documents cannot give up its rights; the kernel must allow seccomp filters.",
                url: url)
        case .ended, .brokenAnswer:
            self.init(
                .documentUnreadable,
                "\(url.redacted): the document ended the helper that read it; it is not tried again.",
                url: url)
        case .tooLate(let limit):
            self.init(
                .documentUnreadable,
                "\(url.redacted): the document was not read within \(limit); it is not tried again.", url: url)
        }
    }
}
