import Glibc
import Jobs
import OperationTypes
import PostgreSQL
import StoreParts
import Synchronization

/// Hears of the commits of other stores, on a connection and a thread of its own.
///
/// Its row in table `listener` tells the writers of other stores that somebody hears; while nobody does, they send
/// nothing. After a lost connection the observers are told that everything may have changed.
final class Listener: Sendable {
    /// Identifies the store among those of the database.
    let id: Int64
    /// Closing the writing end wakes the thread.
    private let wake: Pipe
    private let closed = Latch<Void>()

    /// How long to wait before connecting again, and the longest wait for a notification.
    private static let pause = Duration.seconds(1)
    private static let longestWait = Duration.seconds(60)

    init(_ url: String, options: PostgresStoreOptions, observers: Observers) throws(PostgresOpenError) {
        id = Int64.random(in: 1...Int64.max)
        guard let wake = Pipe() else { throw .noThread(code: errno) }
        self.wake = wake
        let link = Link(to: url, name: "halyard listener", options: options)
        let ear = Ear(link, id: id, wake: wake, observers: observers)
        do throws(PostgresError) {
            try ear.begin()
        } catch {
            throw PostgresOpenError(error, server: link.server)
        }
        let (handover, closed) = (Handover(ear), closed)
        do throws(ThreadError) {
            try startThread(named: "halyard-listen") {
                handover.take().listen()
                closed.open()
            }
        } catch {
            throw .noThread(code: error.code)
        }
    }

    deinit { wake.end() }

    func close() async {
        wake.end()
        await closed.uncancellableWait()
    }

    /// The thread's part.
    private final class Ear {
        private let link: Link
        private let id: Int64
        private let wake: Pipe
        private let observers: Observers
        private var isListening = false
        private var wakefulness = Wakefulness()

        init(_ link: Link, id: Int64, wake: Pipe, observers: Observers) {
            self.link = link
            self.id = id
            self.wake = wake
            self.observers = observers
        }

        /// Begins to listen. Removes the rows of stores that are gone.
        func begin() throws(PostgresError) {
            try link.connection().run(
                """
                LISTEN halyard;
                DELETE FROM halyard.listener
                WHERE  id = \(id)
                OR     NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = listener.backend);
                INSERT INTO halyard.listener (id, backend) VALUES (\(id), pg_backend_pid())
                """)
            isListening = true
            wakefulness = Wakefulness()
        }

        func listen() {
            while !isClosed(after: isListening ? .zero : Listener.pause) {
                do throws(PostgresError) {
                    if !isListening {
                        try begin()
                        observers.tell([.queues, .definitions, .schedules, .holders, .missed])
                    }
                    let found = try link.connection().notifications(
                        orUntilReadable: wake.reading, timeout: wakefulness.wait ?? Listener.longestWait)
                    for notification in found {
                        guard let notice = Notice(notification.payload), notice.sender != id else { continue }
                        if notice.changes == [.work] {
                            try perform(wakefulness.notified(at: .now))
                        } else {
                            observers.tell(try confirmed(notice.changes))
                        }
                    }
                    if wakefulness.state != .asleep { try perform([.look]) }
                } catch {
                    // The writers report the server's problems; the next round connects again.
                    isListening = false
                }
            }
            // The row of a store that is gone costs the others a few notifications, until the next listener begins.
            _ = try? link.connection().run("DELETE FROM halyard.listener WHERE id = \(id)")
        }

        /// Leaves out cancellation requests that are not in the database: every role that may connect can forge a
        /// notification.
        private func confirmed(_ changes: [StoreChange]) throws(PostgresError) -> [StoreChange] {
            var confirmed: [StoreChange] = []
            for change in changes {
                guard case .jobs(let jobs) = change, jobs.contains(where: \.isCancelRequest) else {
                    confirmed.append(change)
                    continue
                }
                let requested = try requested(jobs.filter(\.isCancelRequest).map(\.job))
                confirmed.append(.jobs(jobs.filter { !$0.isCancelRequest || requested.contains($0.job) }))
            }
            return confirmed
        }

        /// Returns the running jobs among these whose cancellation is requested.
        private func requested(_ jobs: [JobID]) throws(PostgresError) -> Set<JobID> {
            let rows = try link.connection().run(
                """
                SELECT job
                FROM   halyard.running
                WHERE  job = ANY ('{\(jobs.map(\.description).joined(separator: ","))}'::bigint[])
                AND    cancel_ms IS NOT NULL
                """)
            return Set(rows.map { $0.string(0) }.compactMap { Int64($0).map(JobID.init(_:)) })
        }

        private func perform(_ actions: [Wakefulness.Action]) throws(PostgresError) {
            var rest = actions[...]
            while let action = rest.popFirst() {
                switch action {
                case .report: observers.tell([.work])
                case .wakeUp: try link.connection().run(Self.setAsleep(false, id))
                case .fold: try link.connection().run(Self.fold)
                case .fallAsleep: try link.connection().run(Self.setAsleep(true, id))
                case .look:
                    guard let row = try link.connection().run(Self.look).first else { continue }
                    rest += wakefulness.saw(
                        calls: Int64(row.string(0)) ?? 0, hasCallers: row.string(1) == "t")
                }
            }
        }

        /// Without waiting for the disk: a crash of the server ends this connection too.
        private static func setAsleep(_ isAsleep: Bool, _ id: Int64) -> String {
            """
            SELECT set_config('synchronous_commit', 'off', true);
            DELETE FROM halyard.listener
            WHERE  NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = listener.backend);
            UPDATE halyard.listener SET asleep = \(isAsleep) WHERE id = \(id)
            """
        }

        /// A fold that is lost is repeated by the next one.
        private static let fold = """
            SELECT set_config('synchronous_commit', 'off', true);
            SELECT halyard.fold_tally(-id) FROM halyard.queue WHERE removed_ms IS NULL
            """

        /// The lock's number is in two columns.
        private static let look = """
            SELECT (SELECT last_value + is_called::integer FROM halyard.enqueue_call),
                   EXISTS (SELECT 1
                           FROM   pg_locks
                           WHERE  locktype = 'advisory'
                           AND    classid = \(AdvisoryLock.calling >> 32)
                           AND    objid = \(AdvisoryLock.calling & 0xFFFF_FFFF)
                           AND    objsubid = 1
                           AND    database = (SELECT oid FROM pg_database WHERE datname = current_database()))
            """

        private func isClosed(after pause: Duration) -> Bool {
            var files = [pollfd(fd: wake.reading, events: Int16(POLLIN), revents: 0)]
            return poll(&files, 1, Int32(pause.milliseconds)) > 0
        }
    }
}

/// A pipe whose reading end becomes readable when it is ended.
private final class Pipe: Sendable {
    let reading: Int32
    private let writing: Mutex<Int32?>

    /// Nil if the process has too many open files.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reading = ends[0]
        writing = Mutex(ends[1])
    }

    func end() {
        writing.withLock { writing in
            if let writing { Glibc.close(writing) }
            writing = nil
        }
    }

    deinit {
        end()
        Glibc.close(reading)
    }
}
