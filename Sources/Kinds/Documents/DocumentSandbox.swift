import CLinux
import Glibc
import Synchronization

/// The process that reads documents for another one, with no rights but to compute.
///
/// It starts with limits (768 MiB of address space, 60 s of processor time, no file, no process), gives up all privileges, and
/// lets the kernel end it at the first system call that computing does not need: after that it can open no file, make no
/// connection, start no program and see no other process. It reads documents from descriptor 0 until that is closed.
public enum DocumentSandbox {
    /// The only argument of a sandbox.
    static let word = "read-documents"
    /// In place of an answer's length.
    static let noSandbox = 0xFFFF_FFFF

    private static let offered = Atomic(false)
    /// Whether this program can be started as a sandbox.
    static var isOffered: Bool { offered.load(ordering: .relaxed) }

    /// Does a sandbox's work and ends the process, when it was started as one; returns else. To be called before anything else,
    /// while the process has one thread.
    public static func runIfAsked() {
        offered.store(true, ordering: .relaxed)
        guard CommandLine.arguments.dropFirst().elementsEqual([word]) else { return }
        var kind: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(0, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 else { return }
        exit(run())
    }

    private static func run() -> Int32 {
        // What one document took serves the next one: given back, it would be faulted in again page by page.
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
            // Only the program at the other end writes questions; one that cannot be read means that they are not of one make.
            guard let answer = try? SandboxMessage.answer(questionBytes, documentBytes),
                send(SandboxMessage.length(answer.count)), send(answer)
            else { return 65 }
        }
        return 0
    }

    /// Whatever is loaded or opened at first use is so before that is forbidden.
    private static func warmUp() {
        let page = """
            <title>a &amp; b</title><meta name=author content=c><time datetime="2024-02-03T04:05Z">d</time>
            <script type="application/ld+json">{"@type":"Article","headline":"e","wordCount":1.5}</script>
            """
        // A question that cannot be written shows with the first real one too.
        if let question = try? SandboxMessage.question(
            DescribeTask(url: "https://example.org/", contentType: "text/html"))
        {
            // Its answer is of no interest; that it can be made shows with the first real one.
            _ = try? SandboxMessage.answer(question, Array(page.utf8))
        }
    }

    /// - Returns: False when a limit or the filter cannot be set.
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
