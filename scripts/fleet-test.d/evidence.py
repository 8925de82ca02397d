"""What the journals and the database contain at the end of the test."""
import fleet

OPEN = ["blocked", "scheduled", "ready", "running"]
STATES = {4: "succeeded", 5: "failed", 6: "cancelled", 7: "skipped"}


class Attempt:
    """An attempt as a journal shows it. Without an end, it lasted at least until the last line of its process."""

    def __init__(self, daemon, pid, job, number, name, begin):
        self.daemon = daemon
        self.pid = pid
        self.job = job
        self.number = number
        self.name = name
        self.begin = begin
        self.end = None
        self.how = None
        # Whether the job's result is of this attempt.
        self.counts = False

    def __str__(self):
        return (f"attempt {self.number} of job {self.job} ({self.name}) on {self.daemon.name} from {self.begin:.3f} to "
                f"{self.end:.3f} ({self.how})")


def read_journal(daemon):
    """The attempts of one daemon, and the lines that contradict others."""
    attempts, problems, last = {}, [], {}
    for what, at, pid, *rest in daemon.journal():
        last[pid] = at
        if not rest:
            continue
        job, number, name = rest
        key = (pid, job, number)
        if what == "begin":
            if key in attempts:
                problems.append(f"attempt {number} of job {job} began twice on {daemon.name}")
            attempts[key] = Attempt(daemon, pid, job, number, name, at)
        else:
            attempts[key].end = at
            attempts[key].how = what
    for attempt in attempts.values():
        if attempt.end is None:
            attempt.end, attempt.how = last[attempt.pid], "lost"
    return list(attempts.values()), problems


def held(attempt):
    """The span in which the attempt may exclude others.

    Nothing can stop a frozen process, so an attempt whose result does not count excludes nobody once a freeze has
    begun. When the processes run again, a worker may still begin the attempts in its pipe, until the daemon stops it
    within the grace; their results are discarded. The check `Checks.thawed` limits this.
    """
    if not attempt.counts:
        for start, end in attempt.daemon.frozen:
            if attempt.end > start and attempt.begin < end + fleet.GRACE:
                return attempt.begin, max(attempt.begin, start)
    return attempt.begin, attempt.end


class Evidence:
    def __init__(self, members, server):
        self.attempts = []
        self.problems = []
        for member in members:
            attempts, problems = read_journal(member)
            self.attempts += attempts
            self.problems += problems
        self.by_job = {}
        for attempt in self.attempts:
            self.by_job.setdefault(attempt.job, []).append(attempt)
        self.jobs = {}
        for row in server.rows(
                "SELECT record.id, record.state, record.attempt, record.result_attempt, record.value::json AS value, "
                "record.input::json AS input, record.repeats, record.code, record.rescues, record.enqueued_ms, "
                "record.finished_ms, definition.name AS definition, queue.name AS queue FROM halyard.record "
                "JOIN halyard.definition ON definition.id = record.definition "
                "JOIN halyard.queue ON queue.id = record.queue"):
            row["state"] = STATES.get(row["state"], "open")
            self.jobs[row["id"]] = row
            for attempt in self.result_attempt(row):
                attempt.counts = True
        self.by_name = {}
        self.repeats = {}
        for row in self.jobs.values():
            if row["repeats"] is not None:
                self.repeats.setdefault(row["repeats"], []).append(row)
            elif row["definition"] != "tick":
                self.by_name.setdefault((row["input"] or {}).get("name"), []).append(row)

    def result_attempt(self, row):
        """The attempts in the journals whose end the result of this job claims to be."""
        return [attempt for attempt in self.by_job.get(row["id"], []) if attempt.number == row["result_attempt"]]
