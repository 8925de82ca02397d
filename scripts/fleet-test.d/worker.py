#!/usr/bin/env python3
"""The worker of the fleet test: one kind, `step`, whose attempts write their beginning and their end to a journal.

A line of the journal is a JSON list: what (begin, end, fail, stop, alive), the monotonic time in seconds, which all
namespaces of the machine share, the process, the job, the attempt, and the name of the job. An attempt without an end
ended with its process, so at the earliest at the last line of the process.

The input: name, ms (how long the attempt takes), fails (how many tries fail first), children (how many jobs to enqueue
with the success).
"""
import heapq
import json
import os
import select
import sys
import time

JOURNAL = os.open(os.environ["FLEET_JOURNAL"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
DAEMON = os.environ["FLEET_DAEMON"]
ALIVE_EVERY = 0.1
KINDS = [{
    "name": "step", "accepts": "[AnyOutput]",
    "fields": [
        {"name": "name", "shape": "string"}, {"name": "ms", "shape": "integer"}, {"name": "fails", "shape": "integer"},
        {"name": "children", "shape": "integer"}],
}]


class Worker:
    def __init__(self):
        self.ends = []
        self.running = {}
        self.written = 0.0

    def note(self, what, run=None):
        self.written = time.monotonic()
        line = [what, self.written, os.getpid()]
        if run:
            line += [run["job"], run["attempt"], run["input"].get("name", "")]
        os.write(JOURNAL, (json.dumps(line) + "\n").encode())

    def send(self, message):
        data = (json.dumps(message, separators=(",", ":")) + "\n").encode()
        while data:
            data = data[os.write(1, data):]

    def receive(self, message):
        kind = message["type"]
        if kind == "hello":
            self.send({"type": "kinds", "protocol": 1, "kinds": KINDS})
        elif kind == "run":
            key = (message["job"], message["attempt"])
            self.running[key] = message
            self.note("begin", message)
            self.send({"type": "started", "attempts": [{"job": key[0], "attempt": key[1]}]})
            heapq.heappush(self.ends, (time.monotonic() + message["input"].get("ms", 0) / 1000, key))
        elif kind == "stop":
            run = self.running.pop((message["job"], message["attempt"]), None)
            if run:
                self.note("stop", run)
                self.fail(run, "stopped", False)
        elif kind == "ping":
            self.send({"type": "pong", "id": message["id"]})
        elif kind == "clean_up":
            self.send({"type": "cleaned_up", "id": message["id"], "left": False})
        elif kind == "drain":
            while self.running:
                time.sleep(0.01)
                self.end_due()
            sys.exit(0)

    def fail(self, run, code, retryable):
        self.send({"type": "failed", "job": run["job"], "attempt": run["attempt"], "code": code,
                   "message": "as the test requested", "retryable": retryable})

    def end_due(self):
        while self.ends and self.ends[0][0] <= time.monotonic():
            run = self.running.pop(heapq.heappop(self.ends)[1], None)
            if run is None:
                continue
            if run["tries"] < run["input"].get("fails", 0):
                self.note("fail", run)
                self.fail(run, "requested", True)
                continue
            self.note("end", run)
            name = run["input"].get("name", "")
            children = [
                {"definition": "plain", "input": {"name": f"{name}/child-{index}", "ms": 5}}
                for index in range(run["input"].get("children", 0))]
            self.send({"type": "succeeded", "job": run["job"], "attempt": run["attempt"], "children": children,
                       "output": {"daemon": DAEMON, "name": name, "attempt": run["attempt"]}})

    def serve(self):
        os.set_blocking(0, False)
        rest = b""
        while True:
            self.end_due()
            wait = ALIVE_EVERY
            if self.ends:
                wait = min(wait, max(0, self.ends[0][0] - time.monotonic()))
            if select.select([0], [], [], wait)[0]:
                data = os.read(0, 1 << 16)
                if not data:
                    # The daemon is gone. All attempts end with this process.
                    self.note("gone")
                    os._exit(0)
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.receive(json.loads(line))
            if self.running and time.monotonic() - self.written >= ALIVE_EVERY:
                self.note("alive")


if __name__ == "__main__":
    Worker().serve()
