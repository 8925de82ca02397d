"""The callers: they enqueue, cancel and retry through the sockets of all daemons, and remember the answers."""
import http.client
import itertools
import random
import threading
import time

QUEUES = {"default": 32, "wide": 24, "narrow": 3, "alone": 1}
# The limits of each daemon, in addition to those of the fleet.
LIMITS_PER_DAEMON = {"wide": 4}
RETRY = {"tries": 4, "delay": "constant", "initial": "200ms", "on": "any"}
SCHEDULE_SECONDS = 3
DEFINITIONS = {
    "queues": {
        name: {"limit": limit} | ({"limit_per_daemon": LIMITS_PER_DAEMON[name]} if name in LIMITS_PER_DAEMON else {})
        for name, limit in QUEUES.items()},
    "definitions": {
        "plain": {"kind": "step", "retry": RETRY},
        "wide": {"kind": "step", "queue": "wide", "retry": RETRY},
        "narrow": {"kind": "step", "queue": "narrow", "retry": RETRY},
        "alone": {"kind": "step", "queue": "alone", "retry": RETRY},
        # One try: a requested failure is final.
        "doomed": {"kind": "step", "retry": {"tries": 1}},
        "tick": {"kind": "step", "input": {"name": "tick", "ms": 10}},
    },
    "schedules": {
        "often": {"calendar": f"*:*:0/{SCHEDULE_SECONDS} UTC", "definition": "tick", "overlap": "allow"},
    },
}
PRIORITIES = ["very_low", "low", "normal", "high", "very_high"]


class Load:
    """Everything the callers asked for, and what was answered.

    `jobs`: for each name, what was requested; `accepted`: for each name, the numbers that the answers contained.
    """

    def __init__(self, seed, fleet, count, seconds, say):
        self.seed = seed
        self.fleet = fleet
        self.count = count
        self.seconds = seconds
        self.say = say
        self.lock = threading.Lock()
        self.jobs = {}
        self.accepted = {}
        # Names that only one unrepeatable request contained, whose answer is missing.
        self.unknown = set()
        self.edges = []
        self.cancelled = {}
        self.retried = {}
        self.contradictions = []
        self.repeats = 0
        self.stopped = threading.Event()
        self.numbers = itertools.count()
        self.threads = []

    def start(self):
        began = time.monotonic()
        callers = 2 * len(self.fleet)
        for number in range(callers):
            thread = threading.Thread(target=self.call, args=(number, callers, began), daemon=True)
            thread.start()
            self.threads.append(thread)

    def is_done(self):
        return not any(thread.is_alive() for thread in self.threads)

    def call(self, number, callers, began):
        """Enqueues this caller's part, evenly over the time of the test."""
        chance = random.Random(f"{self.seed}-caller-{number}")
        daemon = self.fleet[number % len(self.fleet)]
        made, wanted = 0, self.count // callers
        # On a slow machine, the callers enqueue fewer jobs.
        while made < wanted and not self.stopped.is_set() and time.monotonic() < began + 2 * self.seconds:
            made += self.submit(chance, daemon)
            due = began + self.seconds * made / wanted
            if self.stopped.wait(max(0, due - time.monotonic())):
                return

    # Requests

    def input(self, chance, **more):
        name = f"job-{next(self.numbers)}"
        length = chance.random()
        milliseconds = chance.choice([0, 5, 5, 20, 50])
        if length > 0.985:
            milliseconds = chance.randrange(1000, 6000)
        if length > 0.997:
            # These jobs take longer than a daemon that cannot renew its lease may run them.
            milliseconds = chance.randrange(8000, 12000)
        values = {"name": name, "ms": milliseconds, **more}
        if chance.random() < 0.05:
            values["fails"] = chance.choice([1, 2])
        return values

    def submission(self, chance):
        """A request without its key, and the jobs in it as (definition, input), and its edges."""
        shape = chance.random()
        if shape < 0.70:
            definition = chance.choice(["plain", "plain", "wide", "wide", "narrow", "alone"])
            values = self.input(chance)
            if definition in ("narrow", "alone"):
                values["ms"] = min(values["ms"], 30 if definition == "alone" else 100)
            if definition == "plain" and chance.random() < 0.06:
                values["children"] = chance.choice([1, 3])
            body = {"definition": definition, "input": values}
            if chance.random() < 0.3:
                body["priority"] = chance.choice(PRIORITIES)
            if chance.random() < 0.05:
                body["in_ms"] = chance.choice([200, 1500, 4000])
            return body, [(definition, values)], []
        if shape < 0.73:
            values = self.input(chance)
            values["fails"] = 9
            return {"definition": "doomed", "input": values}, [("doomed", values)], []
        size = chance.choice([3, 4, 6])
        if shape < 0.83:
            after = [[], *[[index - 1] for index in range(1, size)]]
        elif shape < 0.91:
            after = [[], *[[0] for _ in range(size)]]
        else:
            after = [[], *[[0] for _ in range(size)], list(range(1, size + 1))]
        nodes = [("wide" if chance.random() < 0.5 else "plain", self.input(chance)) for _ in after]
        condition = "succeeded"
        if chance.random() < 0.1:
            # The first job fails. The others wait for its end, or are skipped.
            nodes[0] = ("doomed", dict(nodes[0][1], fails=9))
            condition = chance.choice(["finished", "succeeded"])
        jobs, edges = [], []
        for index, (definition, values) in enumerate(nodes):
            entry = {"node": f"n{index}", "definition": definition, "input": values}
            if after[index]:
                entry["after"] = [
                    {"node": f"n{other}", "condition": condition if other == 0 else "succeeded"}
                    for other in after[index]]
                edges += [(nodes[other][1]["name"], values["name"]) for other in after[index]]
            jobs.append(entry)
        return {"name": "shape", "jobs": jobs}, nodes, edges

    def submit(self, chance, daemon):
        """Sends a request, perhaps also to another daemon at the same time. Returns the number of jobs."""
        body, nodes, edges = self.submission(chance)
        names = [values["name"] for _, values in nodes]
        is_repeatable = chance.random() < 0.92
        if is_repeatable:
            body["key"] = f"key-{names[0]}"
        twin = chance.choice([other for other in self.fleet if other is not daemon]) if chance.random() < 0.1 else None
        is_cancelled = chance.random() < 0.06
        is_retried = nodes[0][0] == "doomed" and len(nodes) == 1 and chance.random() < 0.6
        with self.lock:
            for definition, values in nodes:
                self.jobs[values["name"]] = {"definition": definition, **values}
            self.edges += edges
        others = []
        if twin and is_repeatable:
            arguments = (random.Random(names[0]), twin, body, names)
            others.append(threading.Thread(target=self.send, args=arguments, daemon=True))
            others[0].start()
        numbers = self.send(chance, daemon, body, names)
        for other in others:
            other.join()
        if numbers is None:
            with self.lock:
                self.unknown.update(names)
        elif is_cancelled:
            self.cancel(chance, daemon, names, numbers)
        elif is_retried:
            self.retry(chance, daemon, names[0], numbers[0])
        return len(nodes)

    def send(self, chance, daemon, body, names):
        """Enqueues, and repeats the request at any daemon until it is answered, if it has a key."""
        while True:
            status, answer = self.exchange(daemon, "POST", "jobs", body)
            if status in (200, 201):
                numbers = answer["jobs"]
                with self.lock:
                    if len(numbers) != len(names):
                        self.contradictions.append(f"{body.get('key')}: {len(names)} jobs, but the answer is {answer}")
                    for name, number in zip(names, numbers):
                        self.accepted.setdefault(name, set()).add(number)
                return numbers
            if status is not None and status not in (500, 503):
                with self.lock:
                    self.contradictions.append(f"{body} was refused: {answer}")
                return None
            # A 503 promises that nothing was done, so the request may be repeated without a key.
            if ("key" not in body and status != 503) or self.stopped.is_set():
                return None
            with self.lock:
                self.repeats += 1
            self.stopped.wait(0.2 + chance.random() / 2)
            daemon = chance.choice(self.fleet)

    def exchange(self, daemon, method, path, body=None):
        """The status and the answer; (None, None) if none came."""
        try:
            return daemon.request(method, path, body)
        except (OSError, http.client.HTTPException):
            return None, None

    def cancel(self, chance, daemon, names, numbers):
        """Cancels one of the jobs. The answer decides what may still happen."""
        index = chance.randrange(len(names))
        for _ in range(60):
            status, answer = self.exchange(daemon, "POST", f"jobs/{numbers[index]}/cancel")
            if status == 200:
                with self.lock:
                    self.cancelled[names[index]] = (numbers[index], self.kind_of(answer), time.monotonic())
                return
            if self.stopped.wait(0.5):
                return
            daemon = chance.choice(self.fleet)

    @staticmethod
    def kind_of(answer):
        """The word of an answer to a cancellation: cancelled, requested or already_final."""
        text = str(answer)
        return next((word for word in ("already_final", "requested", "cancelled") if word in text), text)

    def retry(self, chance, daemon, name, number):
        """Waits for the failure of a job, and enqueues it again through two daemons with one key."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not self.stopped.is_set():
            status, answer = self.exchange(daemon, "GET", f"jobs/{number}/result?wait=2s")
            if status == 200:
                break
            self.stopped.wait(0.1)
            daemon = chance.choice(self.fleet)
        for other in self.fleet[:2]:
            for _ in range(60):
                status, answer = self.exchange(other, "POST", f"jobs/{number}/retry?key=again-{name}")
                if status in (200, 201):
                    with self.lock:
                        self.retried.setdefault(name, set()).update(answer["jobs"])
                    break
                if status not in (None, 500, 503) or self.stopped.wait(0.5):
                    break
