/// The exit statuses of a worker, mostly from `sysexits.h`; see ``WorkerCommand``.
enum ExitStatus {
    static let success: Int32 = 0
    static let attemptsLeft: Int32 = 1
    static let usage: Int32 = 64
    static let software: Int32 = 70
    static let system: Int32 = 71
    static let protocolError: Int32 = 76
    static let settings: Int32 = 78
}
