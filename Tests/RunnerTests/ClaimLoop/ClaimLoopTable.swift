import Testing

@testable import Runner

/// Every event in every state. Job 1 runs where one does; job 2 is what an answer claims. A row tells the actions, the
/// alarms that are then set (from now on), and the exchange that begins.
@Suite struct ClaimLoopTable {
    @Test(arguments: rows) func eventDoesWhatTheTableSays(_ row: Row) {
        let one = LoopProbe.attempt(1)
        let two = LoopProbe.attempt(2)
        var probe = row.state.probe(one, two)
        if row.event == .uptimeAlarm, let moment = probe.loop.uptimeAlarmAt { probe.now = moment }
        #expect(probe.after(row.event.event(one, two)) == row.effect)
    }

    @Test func tableIsComplete() {
        for state in LoopState.allCases {
            for event in LoopEvent.allCases where event.canHappen(in: state) {
                #expect(Self.rows.count { $0.state == state && $0.event == event } == 1)
            }
        }
    }

    struct Row: Sendable, CustomStringConvertible {
        let state: LoopState
        let event: LoopEvent
        let effect: String

        init(_ state: LoopState, _ event: LoopEvent, _ effect: String) {
            self.state = state
            self.event = event
            self.effect = effect
        }

        var description: String { "\(event) while \(state)" }
    }

    static let rows: [Row] = [
        Row(.fresh, .wake, "exchange(claim 2)"),
        Row(.fresh, .due, "wall +2000, exchange(claim 2)"),
        Row(.fresh, .wallAlarmEarly, "exchange(claim 2)"),
        Row(.fresh, .wallAlarm, "exchange(claim 2)"),
        Row(.fresh, .uptimeAlarm, "exchange(claim 2)"),
        Row(.fresh, .storeFailed, "end with error, ended"),
        Row(.fresh, .cancelled, "exchange(claim 2)"),
        Row(.fresh, .proofWanted, "exchange(claim 2)"),
        Row(.fresh, .fewerSlots, "exchange(claim 1)"),
        Row(.fresh, .drain, "end, ended"),
        Row(.fresh, .interrupt, "end, ended"),
        Row(.idle, .wake, "wall +5000, exchange(claim 2)"),
        Row(.idle, .due, "wall +2000"),
        Row(.idle, .wallAlarmEarly, "wall +5000, exchange(claim 2)"),
        Row(.idle, .wallAlarm, "exchange(claim 2)"),
        Row(.idle, .uptimeAlarm, "wall +5000"),
        Row(.idle, .storeFailed, "end with error, ended"),
        Row(.idle, .cancelled, "wall +5000"),
        Row(.idle, .proofWanted, "wall +5000, exchange(claim 2)"),
        Row(.idle, .fewerSlots, "wall +5000, exchange(claim 1)"),
        Row(.idle, .drain, "end, ended"),
        Row(.idle, .interrupt, "end, ended"),
        Row(.inFlight, .wake, "-"),
        Row(.inFlight, .due, "wall +2000"),
        Row(.inFlight, .wallAlarmEarly, "-"),
        Row(.inFlight, .wallAlarm, "-"),
        Row(.inFlight, .uptimeAlarm, "-"),
        Row(.inFlight, .answered, "start 2, uptime +30s"),
        Row(.inFlight, .refused, "uptime +100ms"),
        Row(.inFlight, .storeFailed, "end with error, ended"),
        Row(.inFlight, .cancelled, "-"),
        Row(.inFlight, .proofWanted, "-"),
        Row(.inFlight, .fewerSlots, "-"),
        Row(.inFlight, .drain, "uptime +3s"),
        Row(.inFlight, .interrupt, "-"),
        Row(.running, .wake, "uptime +30s, exchange(claim 1)"),
        Row(.running, .due, "wall +2000, uptime +30s"),
        Row(.running, .wallAlarmEarly, "uptime +30s, exchange(claim 1)"),
        Row(.running, .wallAlarm, "uptime +30s, exchange(claim 1)"),
        Row(.running, .uptimeAlarm, "stop 1 timeout, uptime +5s"),
        Row(.running, .storeFailed, "stop 1 the runner is stopping, end with error, ended"),
        Row(.running, .returned, "uptime +30s"),
        Row(.running, .ended, "exchange(1 succeeded, claim 2)"),
        Row(.running, .cancelled, "stop 1 cancellation, uptime +5s"),
        Row(.running, .proofWanted, "uptime +30s, exchange(claim 1)"),
        Row(.running, .fewerSlots, "uptime +30s"),
        Row(.running, .drain, "uptime +3s"),
        Row(.running, .interrupt, "stop 1 the runner is stopping, uptime +5s"),
        Row(.returned, .wake, "uptime +30s, exchange(claim 1)"),
        Row(.returned, .due, "wall +2000, uptime +30s"),
        Row(.returned, .wallAlarmEarly, "uptime +30s, exchange(claim 1)"),
        Row(.returned, .wallAlarm, "uptime +30s, exchange(claim 1)"),
        Row(.returned, .uptimeAlarm, "-"),
        Row(.returned, .storeFailed, "end with error, ended"),
        Row(.returned, .ended, "exchange(1 succeeded, claim 2)"),
        Row(.returned, .cancelled, "uptime +30s"),
        Row(.returned, .proofWanted, "uptime +30s, exchange(claim 1)"),
        Row(.returned, .fewerSlots, "uptime +30s"),
        Row(.returned, .drain, "uptime +3s"),
        Row(.returned, .interrupt, "uptime +30s"),
        Row(.full, .wake, "uptime +30s"),
        Row(.full, .due, "wall +2000, uptime +30s"),
        Row(.full, .wallAlarmEarly, "uptime +30s"),
        Row(.full, .wallAlarm, "uptime +30s"),
        Row(.full, .uptimeAlarm, "stop 1 timeout, stop 2 timeout, uptime +5s"),
        Row(.full, .storeFailed, "stop 1 the runner is stopping, stop 2 the runner is stopping, end with error, ended"),
        Row(.full, .returned, "uptime +30s"),
        Row(.full, .ended, "uptime +30s, exchange(1 succeeded, claim 1)"),
        Row(.full, .cancelled, "stop 1 cancellation, uptime +5s"),
        Row(.full, .proofWanted, "uptime +30s, exchange()"),
        Row(.full, .fewerSlots, "uptime +30s"),
        Row(.full, .drain, "uptime +3s"),
        Row(.full, .interrupt, "stop 1 the runner is stopping, stop 2 the runner is stopping, uptime +5s"),
        Row(.stopping, .wake, "uptime +5s, exchange(claim 1)"),
        Row(.stopping, .due, "wall +2000, uptime +5s"),
        Row(.stopping, .wallAlarmEarly, "uptime +5s, exchange(claim 1)"),
        Row(.stopping, .wallAlarm, "uptime +5s, exchange(claim 1)"),
        Row(.stopping, .uptimeAlarm, "abandon 1, uptime +25s, exchange(1 cancelled, claim 1)"),
        Row(.stopping, .storeFailed, "end with error, ended"),
        Row(.stopping, .returned, "uptime +5s"),
        Row(.stopping, .ended, "exchange(1 succeeded, claim 2)"),
        Row(.stopping, .cancelled, "uptime +5s"),
        Row(.stopping, .proofWanted, "uptime +5s, exchange(claim 1)"),
        Row(.stopping, .fewerSlots, "uptime +5s"),
        Row(.stopping, .drain, "uptime +3s"),
        Row(.stopping, .interrupt, "uptime +5s"),
        Row(.abandoned, .wake, "uptime +25s, exchange(claim 1)"),
        Row(.abandoned, .due, "wall +2000, uptime +25s"),
        Row(.abandoned, .wallAlarmEarly, "uptime +25s, exchange(claim 1)"),
        Row(.abandoned, .wallAlarm, "uptime +25s, exchange(claim 1)"),
        Row(.abandoned, .uptimeAlarm, "-"),
        Row(.abandoned, .storeFailed, "end with error, ended"),
        Row(.abandoned, .returned, "uptime +25s"),
        Row(.abandoned, .ended, "late 1, exchange(claim 2)"),
        Row(.abandoned, .cancelled, "uptime +25s"),
        Row(.abandoned, .proofWanted, "uptime +25s, exchange(claim 1)"),
        Row(.abandoned, .fewerSlots, "uptime +25s"),
        Row(.abandoned, .drain, "end, ended"),
        Row(.abandoned, .interrupt, "end, ended"),
        Row(.backingOff, .wake, "uptime +100ms"),
        Row(.backingOff, .due, "wall +2000, uptime +100ms"),
        Row(.backingOff, .wallAlarmEarly, "uptime +100ms"),
        Row(.backingOff, .wallAlarm, "uptime +100ms"),
        Row(.backingOff, .uptimeAlarm, "uptime +29s900ms, exchange(2 succeeded, claim 1)"),
        Row(.backingOff, .storeFailed, "stop 1 the runner is stopping, end with error, ended"),
        Row(.backingOff, .returned, "uptime +100ms"),
        Row(.backingOff, .ended, "uptime +100ms"),
        Row(.backingOff, .cancelled, "stop 1 cancellation, uptime +100ms"),
        Row(.backingOff, .proofWanted, "uptime +100ms, exchange(2 succeeded, claim 1)"),
        Row(.backingOff, .fewerSlots, "uptime +100ms"),
        Row(.backingOff, .drain, "uptime +100ms"),
        Row(.backingOff, .interrupt, "stop 1 the runner is stopping, uptime +100ms"),
        Row(.draining, .wake, "uptime +10s"),
        Row(.draining, .due, "uptime +10s"),
        Row(.draining, .wallAlarmEarly, "uptime +10s"),
        Row(.draining, .wallAlarm, "uptime +10s"),
        Row(.draining, .uptimeAlarm, "stop 1 the runner is stopping, uptime +5s"),
        Row(.draining, .storeFailed, "stop 1 the runner is stopping, end with error, ended"),
        Row(.draining, .returned, "uptime +10s"),
        Row(.draining, .ended, "uptime +10s, exchange(1 succeeded)"),
        Row(.draining, .cancelled, "stop 1 cancellation, uptime +5s"),
        Row(.draining, .proofWanted, "uptime +10s, exchange()"),
        Row(.draining, .fewerSlots, "uptime +10s"),
        Row(.draining, .drain, "uptime +3s"),
        Row(.draining, .interrupt, "stop 1 the runner is stopping, uptime +5s"),
        Row(.interrupting, .wake, "uptime +5s"),
        Row(.interrupting, .due, "uptime +5s"),
        Row(.interrupting, .wallAlarmEarly, "uptime +5s"),
        Row(.interrupting, .wallAlarm, "uptime +5s"),
        Row(.interrupting, .uptimeAlarm, "abandon 1, uptime +25s, exchange(1 interrupted)"),
        Row(.interrupting, .storeFailed, "end with error, ended"),
        Row(.interrupting, .returned, "uptime +5s"),
        Row(.interrupting, .ended, "exchange(1 succeeded)"),
        Row(.interrupting, .cancelled, "uptime +5s"),
        Row(.interrupting, .proofWanted, "uptime +5s, exchange()"),
        Row(.interrupting, .fewerSlots, "uptime +5s"),
        Row(.interrupting, .drain, "uptime +5s"),
        Row(.interrupting, .interrupt, "uptime +5s"),
        Row(.ended, .wake, "ended"),
        Row(.ended, .due, "ended"),
        Row(.ended, .wallAlarmEarly, "ended"),
        Row(.ended, .wallAlarm, "ended"),
        Row(.ended, .uptimeAlarm, "ended"),
        Row(.ended, .storeFailed, "ended"),
        Row(.ended, .cancelled, "ended"),
        Row(.ended, .proofWanted, "prove 1 false, ended"),
        Row(.ended, .fewerSlots, "ended"),
        Row(.ended, .drain, "ended"),
        Row(.ended, .interrupt, "ended"),
    ]
}
