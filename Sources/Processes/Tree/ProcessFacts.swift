import CLauncher
import Glibc

struct ProcessFacts: Equatable {
    var parent: pid_t
    /// Whether all threads have ended, so that only the entry for the parent is left.
    var isDead: Bool
    /// Whether a signal such as SIGSTOP has stopped the process.
    var isStopped = false
}

extension ProcessFacts {
    /// Nil if the process does not exist, or if `/proc` hides it, as `ProtectProc=` does with some processes.
    init?(_ pid: pid_t) {
        var facts = launcher_facts()
        guard launcher_facts(pid, &facts) == 0 else { return nil }
        self.init(parent: facts.parent, isDead: facts.is_dead != 0, isStopped: facts.is_stopped != 0)
    }
}

/// The children of a process, zombies included. If a child ends during the call, others may be missing.
func children(of pid: pid_t) -> [pid_t] {
    guard hasChildrenFiles else { return processes { $0.parent == pid } }
    return numbers(in: "/proc/\(pid)/task").flatMap { thread in
        (contents("/proc/\(pid)/task/\(thread)/children") ?? []).split(separator: UInt8(ascii: " ")).compactMap(number)
    }
}

/// All processes that `/proc` shows and that match.
func processes(where matches: (ProcessFacts) -> Bool) -> [pid_t] {
    numbers(in: "/proc").filter { pid in ProcessFacts(pid).map(matches) ?? false }
}

/// A kernel may be built without these files (`CONFIG_PROC_CHILDREN`).
private let hasChildrenFiles = access("/proc/thread-self/children", R_OK) == 0

private func numbers(in path: String) -> [pid_t] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var numbers: [pid_t] = []
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { $0.prefix { $0 != 0 }.map(\.self) }
        if let number = number(name[...]) { numbers.append(number) }
    }
    return numbers
}

private func number(_ digits: ArraySlice<UInt8>) -> pid_t? {
    pid_t(String(decoding: digits, as: UTF8.self))
}
