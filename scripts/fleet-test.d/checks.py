"""The checks at the end. Each has a sentence that is true if it passes, and returns what contradicts it."""
import re

import evidence
import fleet
import load

# Words in a daemon's log that name a bug: Swift's traps, and errors of the server that no fault of the test explains.
BUGS = re.compile(r"deadlock|duplicate key|violates|[Pp]recondition|Fatal error|Halyard has a bug|database reported")
# Errors of the classes 22, 23, 40, 42 and XX: wrong statements and data, violated constraints, deadlocks, damage.
# A server whose disk is full may panic, and reports a failure to write its caches as an internal error.
SERVER_BUGS = re.compile(
    r"(ERROR|FATAL):\s+(22|23|42|40|XX)\w{3}:(?! +could not write init file)|PANIC:(?! +53100:)")
# The job's processes may outlive the end of the daemon's freeze by the grace and this much.
THAW = 10
# More than the tries and the faults of a long test can explain: the job was claimed again and again.
MOST_ATTEMPTS = 15
# A job fails after this many crashes in which it was the only one that ran.
MOST_CRASHES = 3


class Checks:
    def __init__(self, members, server, work, facts, stalls, recovery, final_seconds):
        self.members = members
        self.server = server
        self.work = work
        self.facts = facts
        self.stalls = stalls
        self.recovery = recovery
        self.final_seconds = final_seconds

    def all(self):
        """Pairs of a sentence and a function that returns the contradictions."""
        checks = [
            ("every accepted job is in the database", self.lost),
            ("all jobs are final", self.open_jobs),
            ("each job is in exactly one table of states", self.states),
            ("each accepted request has one job for each node, whoever received its repetitions", self.names),
            ("an unanswered request was carried out at most once", self.unanswered),
            ("no answer contradicts its request", lambda: self.work.contradictions),
            ("no attempt began twice", self.begun_twice),
            (f"no job needed more than {MOST_ATTEMPTS} attempts", self.repeated),
            ("each result is that of an attempt that ran to its end", self.results),
            ("each failure is that of an attempt that failed", self.failures),
            ("only jobs that must fail, or whose processes were killed, have failed", self.innocent),
            ("all jobs that must fail have failed, unless cancelled", self.guilty),
            ("jobs that fail at first have used their tries", self.tries),
            ("no job ran on two daemons at once", self.overlaps),
            ("a daemon that was frozen beyond its lease stopped its attempts", self.thawed),
            ("no dependent began before the end of its dependencies", self.order),
            ("jobs were skipped only because of a dependency", self.skipped),
            ("each success has its children once, and nothing else has children", self.children),
            ("a cancelled job did not begin after the answer", self.cancelled_began),
            ("cancelled jobs ended as the answer said", self.cancelled_ended),
            ("each retry is one job, whichever daemon was asked", self.retries),
            ("the schedule fired at most once for each time", self.fired_twice),
            ("the schedule enqueued no more jobs than it has times", self.fired_often),
            ("after the last fault, all daemons worked and the schedule fired", lambda: self.recovery),
            ("each daemon ran jobs", self.shares),
            ("workers noticed that their daemon had been killed", self.late_workers),
            ("the counts of the queues are those of their jobs", self.counts),
            ("no daemon ended by itself", self.deaths),
            ("no daemon logged an error that names a bug", self.logs),
            ("the server saw no deadlock", self.deadlocks),
            ("the server logged no error that names a bug", self.server_log),
        ]
        for queue, limit in load.QUEUES.items():
            checks.append((f"at most {limit} jobs of the queue {queue} ran at once", self.limit(queue, limit)))
        for queue, limit in load.LIMITS_PER_DAEMON.items():
            checks += [
                (f"at most {limit} jobs of the queue {queue} ran at once on {member.name}",
                 self.limit(queue, limit, member))
                for member in self.members]
            checks.append((f"{limit} jobs of the queue {queue} ran at once on one daemon", self.reached(queue, limit)))
        return checks

    # Jobs

    def lost(self):
        for name, numbers in self.work.accepted.items():
            for number in numbers:
                if number not in self.facts.jobs:
                    yield f"job {number} ({name})"

    def open_jobs(self):
        for row in self.facts.jobs.values():
            if row["state"] == "open":
                yield f"job {row['id']} {row['input']} of {row['definition']} after {self.final_seconds:.0f} s"

    def states(self):
        tables = ["blocked", "scheduled", "ready", "running", "done"]
        union = " UNION ALL ".join(f"SELECT job FROM halyard.{table}" for table in tables)
        for row in self.server.rows(
                f"SELECT job.id, count(state.job) AS tables FROM halyard.job LEFT JOIN ({union}) AS state "
                "ON state.job = job.id GROUP BY job.id HAVING count(state.job) <> 1"):
            yield f"job {row['id']} is in {row['tables']}"

    def names(self):
        for name, numbers in self.work.accepted.items():
            found = [row["id"] for row in self.facts.by_name.get(name, [])]
            if len(numbers) != 1 or found != list(numbers):
                yield f"{name}: the answers contain {sorted(numbers)}, the database {found}"

    def unanswered(self):
        for name in self.work.unknown:
            if len(self.facts.by_name.get(name, [])) > 1:
                yield name

    # Attempts

    def begun_twice(self):
        yield from self.facts.problems
        for job, attempts in self.facts.by_job.items():
            numbers = [attempt.number for attempt in attempts]
            if len(set(numbers)) != len(numbers):
                yield f"job {job}: {sorted(numbers)}"

    def repeated(self):
        for row in self.facts.jobs.values():
            if row["attempt"] > MOST_ATTEMPTS:
                yield f"job {row['id']} of {row['definition']}: {row['attempt']}"

    def results(self):
        for row in self.facts.jobs.values():
            if row["state"] != "succeeded":
                continue
            attempts = self.facts.result_attempt(row)
            if [attempt.how for attempt in attempts] != ["end"]:
                yield f"job {row['id']}: {[str(attempt) for attempt in attempts]}"
            elif row["value"]["daemon"] != attempts[0].daemon.name or row["value"]["attempt"] != row["result_attempt"]:
                yield f"job {row['id']}: {row['value']} is not of {attempts[0]}"

    def failures(self):
        for row in self.facts.jobs.values():
            wanted = "lost" if row["code"] == "crashed" else "fail"
            if row["state"] == "failed" and [a.how for a in self.facts.result_attempt(row)] != [wanted]:
                yield f"job {row['id']} ({row['code']})"

    def innocent(self):
        for row in self.facts.jobs.values():
            if row["state"] != "failed" or (row["definition"] == "doomed" and row["code"] == "requested"):
                continue
            lost = sum(1 for attempt in self.facts.by_job.get(row["id"], []) if attempt.how == "lost")
            if row["code"] != "crashed" or lost <= MOST_CRASHES:
                yield f"job {row['id']} of {row['definition']}: {row['code']}, {lost} attempts without an end"

    def guilty(self):
        for row in self.facts.jobs.values():
            if row["definition"] == "doomed" and row["state"] not in ("failed", "cancelled"):
                yield f"job {row['id']}: {row['state']}"

    def tries(self):
        for row in self.facts.jobs.values():
            wanted = (row["input"] or {}).get("fails", 0)
            if row["state"] == "succeeded" and wanted:
                failed = [attempt for attempt in self.facts.by_job[row["id"]] if attempt.how == "fail"]
                if len(failed) < wanted:
                    yield f"job {row['id']}: {len(failed)} of {wanted}"

    def overlaps(self):
        for attempts in self.facts.by_job.values():
            spans = sorted(((*evidence.held(attempt), attempt) for attempt in attempts), key=lambda span: span[:2])
            for (_, end, first), (begin, _, second) in zip(spans, spans[1:]):
                if begin < end and not self.stalls.explain(begin, end):
                    yield f"{first} and {second}"

    def thawed(self):
        for attempt in self.facts.attempts:
            for start, end in attempt.daemon.frozen:
                last = end + fleet.GRACE + THAW
                is_old = attempt.begin < start or (start <= attempt.begin < end and not attempt.counts)
                if end - start > fleet.LEASE and is_old and attempt.end > last:
                    yield f"{attempt}, frozen from {start:.3f} to {end:.3f}"

    def order(self):
        """The end of a dependency is that of the attempt with its result."""
        for before, after in self.work.edges:
            for row in self.facts.by_name.get(before, []):
                ends = [attempt.end for attempt in self.facts.result_attempt(row)]
                for dependent in self.facts.by_name.get(after, []):
                    for attempt in self.facts.by_job.get(dependent["id"], []):
                        if row["state"] not in ("succeeded", "failed", "cancelled") or any(
                                attempt.begin < end for end in ends):
                            yield f"{attempt} after job {row['id']} ({row['state']}), which ended at {ends}"

    def skipped(self):
        before = {}
        for first, second in self.work.edges:
            before.setdefault(second, []).append(first)
        for name, rows in self.facts.by_name.items():
            for row in rows:
                others = [other for first in before.get(name, []) for other in self.facts.by_name.get(first, [])]
                causes = [other["state"] for other in others]
                if row["state"] == "skipped" and not set(causes) & {"failed", "cancelled", "skipped"}:
                    yield f"job {row['id']}: its dependencies are {causes}"

    def children(self):
        for name, request in self.work.jobs.items():
            rows = self.facts.by_name.get(name, [])
            wanted = request.get("children", 0) if rows and rows[0]["state"] == "succeeded" else 0
            for index in range(3):
                found = len(self.facts.by_name.get(f"{name}/child-{index}", []))
                if found != (1 if index < wanted else 0):
                    yield f"{found} of child {index} of {name}"

    # Cancellations and retries

    def cancelled_began(self):
        for name, (number, answer, at) in self.work.cancelled.items():
            late = [
                attempt for attempt in self.facts.by_job.get(number, [])
                if attempt.begin > at and evidence.held(attempt)[1] > attempt.begin]
            # One that was already claimed may still begin, and is stopped.
            if len(late) > (1 if answer == "requested" else 0):
                yield f"job {number}, answered {answer} at {at:.3f}: {[str(attempt) for attempt in late]}"

    def cancelled_ended(self):
        allowed = {
            "cancelled": {"cancelled"}, "requested": {"cancelled", "succeeded", "failed"},
            "already_final": {"succeeded", "failed", "skipped", "cancelled"}}
        for name, (number, answer, _) in self.work.cancelled.items():
            state = self.facts.jobs.get(number, {}).get("state")
            if state not in allowed.get(answer, set()):
                yield f"job {number}: {answer}, but {state}"

    def retries(self):
        for name, numbers in self.work.retried.items():
            for number in self.work.accepted[name]:
                found = {row["id"] for row in self.facts.repeats.get(number, [])}
                if len(numbers) != 1 or found != numbers:
                    yield f"{name}: the answers contain {sorted(numbers)}, the database {sorted(found)}"

    # Schedules

    def ticks(self):
        return sorted(row["enqueued_ms"] for row in self.facts.jobs.values() if row["definition"] == "tick")

    def fired_twice(self):
        """The logs contain the time of each firing, unless its daemon was killed before it wrote the line."""
        daemons = {}
        for member in self.members:
            for line in member.log_text().splitlines():
                if "schedule often: fired" in line:
                    daemons.setdefault(re.search(r" time=(\S+)", line)[1], []).append(member.name)
        for time, names in daemons.items():
            if len(names) > 1:
                yield f"{time} by {names}"

    def fired_often(self):
        """A late firing stands for all times that have passed, so there are never more jobs than times."""
        ticks = self.ticks()
        if ticks and len(ticks) > self.times(ticks):
            yield f"{len(ticks)} jobs for {self.times(ticks)} times"

    @staticmethod
    def times(ticks):
        """The number of the schedule's times from the first job to the last."""
        span = load.SCHEDULE_SECONDS * 1000
        return ticks[-1] // span - ticks[0] // span + 1

    # The fleet

    def limit(self, queue, limit, member=None):
        """Checks the limit of all daemons together, or of one daemon."""
        def contradictions():
            most, at = self.most(queue, member)
            if most > limit:
                yield f"{most} at {at:.3f}"
        return contradictions

    def reached(self, queue, limit):
        """Otherwise the check of the limit proves nothing."""
        def contradictions():
            found = {member.name: self.most(queue, member)[0] for member in self.members}
            if max(found.values()) < limit:
                yield str(found)
        return contradictions

    def most(self, queue, member=None):
        """The largest number of jobs of the queue that ran at once, on all daemons or on one, and when."""
        events = []
        for attempt in self.facts.attempts:
            is_counted = member is None or attempt.daemon is member
            if is_counted and self.facts.jobs.get(attempt.job, {}).get("queue") == queue:
                begin, end = evidence.held(attempt)
                events += [(begin, 1, attempt), (end, -1, attempt)]
        running, most, at = 0, 0, None
        for time, change, _ in sorted(events, key=lambda event: event[:2]):
            running += change
            if running > most and not self.stalls.explain(time, time):
                most, at = running, time
        return most, at

    def shares(self):
        for member in self.members:
            if not any(attempt.daemon is member for attempt in self.facts.attempts):
                yield member.name

    def late_workers(self):
        for member in self.members:
            if member.late_workers:
                yield f"{member.name}: {member.late_workers} not within {fleet.WORKER_PATIENCE} s"

    def counts(self):
        for row in self.server.rows("SELECT * FROM halyard.queues"):
            wrong = {name: row[name] for name in evidence.OPEN if row.get(name)}
            if wrong:
                yield f"{row['queue']}: {wrong}"

    def deaths(self):
        for member in self.members:
            for at, status in member.deaths:
                yield f"{member.name} at {at:.3f} with {status}"

    def logs(self):
        for member in self.members:
            for line in member.log_text().splitlines():
                if BUGS.search(line):
                    yield f"{member.name}: {line}"

    def deadlocks(self):
        count = self.server.deadlocks_before + self.server.deadlocks()
        if count:
            yield f"{count}"

    def server_log(self):
        for line in self.server.log_text().splitlines():
            if SERVER_BUGS.search(line):
                yield line
