import FoundationEssentials
import NIOCore
import NIOPosix
import Pages
import Synchronization
import Web
import WebSyntax

/// Reads documents that servers sent: pages, pictures and PDFs.
///
/// A hostile document may crash a parser or take control of it. A long-running program therefore reads documents in
/// sandboxes: child processes that can only compute (``Location/thisProgram``). If a document crashes its sandbox or keeps
/// it busy until the deadline, the program continues, and the job of that document fails with `document_unreadable`.
public final class DocumentReader: Sendable {
    /// Where documents are parsed.
    public enum Location: Sendable, Hashable {
        /// In this process, for programs that exit after their work.
        case here
        /// In sandboxes: child processes that this command starts. The command's program must call
        /// ``DocumentSandbox/runIfAsked()`` first.
        case sandbox(command: [String])

        /// In sandboxes that are copies of the running program, which must have called
        /// ``DocumentSandbox/runIfAsked()``.
        public static var thisProgram: Location { .sandbox(command: ["/proc/self/exe", DocumentSandbox.word]) }
    }

    /// The number of documents that one sandbox reads before it ends. The next document starts a new one.
    static let documentsPerSandbox = 1000

    private let location: Location
    private let deadline: Duration
    private let idleLimit: Duration
    /// One thread for each sandbox that may be working at the same time.
    private let threads: NIOThreadPool
    private struct Idle {
        var sandboxes: [SandboxProcess] = []
        /// Whether a timer is running that will end the sandboxes that have been idle too long.
        var isWatched = false
    }

    private let idle = Mutex(Idle())

    /// - Parameters:
    ///   - location: Where documents are parsed. Default: in this process.
    ///   - deadline: The time limit for one document in a sandbox. An ordinary document takes milliseconds.
    ///   - idleLimit: How long a sandbox may be idle before it is ended.
    public init(
        _ location: Location = .here, deadline: Duration = .seconds(5), idleLimit: Duration = .seconds(30)
    ) {
        self.location = location
        self.deadline = deadline
        self.idleLimit = idleLimit
        threads = NIOThreadPool(numberOfThreads: max(1, min(System.coreCount, 8)))
        threads.start()
    }

    deinit {
        // No work is running, because running work keeps its reader alive.
        threads.shutdownGracefully { _ in }
    }

    /// Returns the metadata of a document that the caller has already fetched.
    ///
    /// - Parameters:
    ///   - bytes: The document, or its beginning.
    ///   - address: The document's address, against which its links are resolved.
    ///   - contentType: The media type that the server sent; nil to derive the type from the bytes.
    /// - Throws: `invalid_url`, `document_unreadable`, `sandbox_failed`. The call changes nothing, so it is safe to
    ///   repeat it.
    public func describe(
        _ bytes: [UInt8], from address: String, contentType: String?
    ) async throws(KindFailure) -> DocumentMetadata {
        let url = try WebURL(input: address, field: "address")
        return try await read(DescribeTask(url: "\(url)", contentType: contentType), bytes, at: url)
    }

    /// Ends the idle sandboxes and waits until their processes have exited. The next document starts a new sandbox.
    public func endIdleSandboxes() {
        let ended = idle.withLock { idle in
            defer { idle.sandboxes = [] }
            return idle.sandboxes
        }
        // The sandboxes end here, after the lock is released.
        withExtendedLifetime(ended) {}
    }

    /// The process ids of the idle sandboxes, for tests.
    var idleSandboxes: [Int32] { idle.withLock { $0.sandboxes.map(\.id) } }

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
        guard case .sandbox(let command) = location else { return task.read(bytes) }
        let answer: [UInt8]
        do throws(SandboxError) {
            // A copy of a program that never calls `runIfAsked` would do the program's own work a second time.
            if location == .thisProgram, !DocumentSandbox.isOffered { throw .notOffered }
            answer = try ask(command, try Self.question(task), bytes)
        } catch {
            throw KindFailure(error, at: url)
        }
        do {
            return try JSONDecoder().decode(Task.Answer.self, from: Data(answer))
        } catch {
            // The document may have taken over the sandbox, so its answer is not trusted and the job fails.
            throw KindFailure(.invalid(.answer), at: url)
        }
    }

    private static func question(_ task: some DocumentTask) throws(SandboxError) -> [UInt8] {
        do { return try SandboxMessage.question(task) } catch { throw .invalid(error) }
    }

    private func ask(_ command: [String], _ question: [UInt8], _ bytes: [UInt8]) throws(SandboxError) -> [UInt8] {
        guard question.count <= SandboxMessage.maxQuestion, bytes.count <= SandboxMessage.maxDocument else {
            throw .tooLarge
        }
        let kept = idle.withLock { $0.sandboxes.popLast() }
        if let kept {
            do throws(SandboxError) {
                return try ask(kept, question, bytes)
            } catch {
                // An idle sandbox may have ended since its last document. This document is not the cause, so it gets a
                // new sandbox.
                if error != .ended { throw error }
            }
        }
        return try ask(try SandboxProcess(command), question, bytes)
    }

    private func ask(_ sandbox: SandboxProcess, _ question: [UInt8], _ bytes: [UInt8]) throws(SandboxError) -> [UInt8] {
        let answer = try sandbox.exchange(question, bytes, within: deadline)
        keep(sandbox)
        return answer
    }

    private func keep(_ sandbox: SandboxProcess) {
        guard sandbox.documents < Self.documentsPerSandbox else { return }
        let needsWatch = idle.withLock { idle in
            idle.sandboxes.append(sandbox)
            defer { idle.isWatched = true }
            return !idle.isWatched
        }
        if needsWatch { endIdleSandboxesLater() }
    }

    private func endIdleSandboxesLater() {
        MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(idleLimit)) { [weak self] in
            guard let self else { return }
            let limit = ContinuousClock.now - idleLimit
            let (ended, isWatched) = idle.withLock { idle in
                let ended = idle.sandboxes.filter { $0.usedAt <= limit }
                idle.sandboxes.removeAll { $0.usedAt <= limit }
                idle.isWatched = !idle.sandboxes.isEmpty
                return (ended, idle.isWatched)
            }
            // The sandboxes end here, after the lock is released.
            withExtendedLifetime(ended) {}
            if isWatched { endIdleSandboxesLater() }
        }
    }
}

extension KindFailure {
    fileprivate init(_ error: SandboxError, at url: WebURL) {
        switch error {
        case .notStarted(let code):
            self.init(
                .sandboxFailed,
                "The sandbox that reads documents could not be started (\(String(cString: strerror(code)))); "
                    + "check the limits on processes and memory.", isRetryable: true, url: url)
        case .notOffered:
            self.init(
                .sandboxFailed,
                "Documents are read in a sandboxed copy of this program, but this program does not provide one; "
                    + "call DocumentSandbox.runIfAsked() first in its main function.", url: url)
        case .noSandbox:
            self.init(
                .sandboxFailed,
                "The sandbox that reads documents cannot drop its privileges; the kernel must allow seccomp filters.",
                url: url)
        case .invalid(.question):
            self.init(
                .sandboxFailed,
                "The sandbox does not know how to read this document; start it from the same release as this program.",
                url: url)
        case .tooLarge:
            self.init(
                .documentUnreadable,
                "\(url.redacted): the document or its media type is too long for the sandbox, which accepts "
                    + "\(SandboxMessage.maxDocument >> 20) MiB and \(SandboxMessage.maxQuestion >> 10) KiB.", url: url)
        case .ended, .invalid(.answer):
            self.init(
                .documentUnreadable,
                "\(url.redacted): the sandbox ended while it read this document; the document is not tried again.",
                url: url)
        case .tooLate(let limit):
            self.init(
                .documentUnreadable,
                "\(url.redacted): reading the document took longer than \(limit); the document is not tried again.",
                url: url)
        }
    }
}
