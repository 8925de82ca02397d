import CLinux
import Glibc
import Pages
import Synchronization

/// A process that parses documents for another process and can only compute.
///
/// It first limits itself (768 MiB of address space, 60 s of processor time, no files, no processes) and installs a
/// filter that makes the kernel kill it at any system call that parsing does not need. From then on it cannot open a
/// file, make a connection, start a program or see another process. It reads documents from descriptor 0 until that is
/// closed.
public enum DocumentSandbox {
    /// The only argument of a program that is started as a sandbox.
    static let word = "read-documents"
    /// Sent instead of an answer's length if the process could not confine itself.
    static let noSandbox = 0xFFFF_FFFF
    /// Sent instead of an answer's length if the process does not understand the question.
    static let badQuestion = 0xFFFF_FFFE

    private static let offered = Atomic(false)
    /// Whether this program has called ``runIfAsked()`` and so can be started as a sandbox.
    static var isOffered: Bool { offered.load(ordering: .relaxed) }

    /// If the process was started as a sandbox, reads documents and then exits without returning; otherwise returns at
    /// once.
    ///
    /// Call this first in `main`, while the process still has only one thread.
    public static func runIfAsked() {
        offered.store(true, ordering: .relaxed)
        guard CommandLine.arguments.dropFirst().elementsEqual([word]) else { return }
        var kind: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(0, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 else { return }
        exit(run())
    }

    private static func run() -> Int32 {
        // Keep freed memory for the next document. Memory returned to the kernel would have to be faulted in again page
        // by page.
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
        mallopt(M_TRIM_THRESHOLD, 64 << 20)
        warmUp()
        guard lockDown() else {
            _ = send(SandboxMessage.length(noSandbox))
            return 71
        }
        while let head = receive(8) {
            let question = SandboxMessage.count(head[..<4])
            let document = SandboxMessage.count(head[4...])
            guard question <= SandboxMessage.maxQuestion, document <= SandboxMessage.maxDocument,
                let questionBytes = receive(question), let documentBytes = receive(document)
            else { return 65 }
            do throws(SandboxMessage.FormatProblem) {
                let answer = try SandboxMessage.answer(questionBytes, documentBytes)
                guard send(SandboxMessage.length(answer.count)), send(answer) else { return 65 }
            } catch {
                // Only the parent process writes questions. An invalid one means that the parent is a different version
                // of the program.
                if error == .question { _ = send(SandboxMessage.length(badQuestion)) }
                return 65
            }
        }
        return 0
    }

    /// Parses a small page, so that everything that is loaded or opened on first use is available before ``lockDown()``
    /// forbids it.
    private static func warmUp() {
        let page = """
            <title>a &amp; b</title><meta name=author content=c><time datetime="2024-02-03T04:05Z">d</time>
            <script type="application/ld+json">{"@type":"Article","headline":"e","wordCount":1.5}</script>
            """
        // An error here would recur with the first real question and be reported then.
        if let question = try? SandboxMessage.question(
            DescribeTask(url: "https://example.org/", contentType: "text/html"))
        {
            // The answer is not needed. An error here would recur with the first real document and be reported then.
            _ = try? SandboxMessage.answer(question, Array(page.utf8))
        }
    }

    /// Sets the process limits and the filter for system calls. Neither can be lifted again.
    ///
    /// - Returns: False if a limit or the filter cannot be set.
    static func lockDown() -> Bool {
        let limits: [(Int32, rlim_t)] = [
            (Int32(RLIMIT_AS.rawValue), 768 << 20), (Int32(RLIMIT_CPU.rawValue), 60), (Int32(RLIMIT_CORE.rawValue), 0),
            (Int32(RLIMIT_FSIZE.rawValue), 0), (Int32(RLIMIT_NOFILE.rawValue), 0),
            (Int32(halyard_limit_of_processes), 0),
        ]
        for (which, most) in limits {
            var limit = rlimit(rlim_cur: most, rlim_max: most)
            guard setrlimit(__rlimit_resource_t(UInt32(which)), &limit) == 0 else { return false }
        }
        return halyard_lock_down() == 0
    }

    private static func receive(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            let got = bytes.withUnsafeMutableBytes { read(0, $0.baseAddress.map { $0 + received }, count - received) }
            if got < 0, errno == EINTR { continue }
            if got <= 0 { return nil }
            received += got
        }
        return bytes
    }

    private static func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { write(0, $0.baseAddress.map { $0 + sent }, bytes.count - sent) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }
}
