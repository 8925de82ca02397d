#!/usr/bin/env python3
"""A worker for Halyard in one file without dependencies. Copy it, and replace the kinds by your own.

Name it in halyard.yaml, and check it with: halyard workers test --input '{"text": "a b"}' -- ./count-words.py

The protocol is described in /usr/share/doc/halyard/WorkerProtocol.md.
"""
import json
import os
import queue
import sys
import threading
import traceback

PROTOCOL = 1
MAX_OUTPUT = 1 << 20
MAX_CHECKPOINT = 64 << 10


# The kinds.

def count_words(input, attempt):
    text = input.get("text")
    if text is None and attempt.outputs:
        # A dependency supplies what the input lacks.
        text = attempt.outputs[0]["output"]
    if not isinstance(text, str):
        raise Failure("no_text", "the input has no text; give the field text")
    words = 0
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if attempt.stopped.is_set():
            raise Failure("stopped", "the attempt was asked to stop")
        words += len(line.split())
        if number % 1000 == 0:
            attempt.progress(number, len(lines), "lines")
    return {"words": words, "lines": len(lines)}


def check_count_words(input, stage):
    """Returns why the input can never be accepted, or None."""
    if isinstance(input, dict) and isinstance(input.get("text", ""), str):
        return None
    return "text must be a string"


def count_files(input, attempt):
    """Saves a checkpoint after each file, so that another attempt resumes there."""
    paths = input.get("paths")
    if not isinstance(paths, list):
        raise Failure("no_paths", "the input has no files; give the field paths")
    done, words = 0, 0
    checkpoint = attempt.checkpoint
    # An earlier version of this program may have saved another form.
    if isinstance(checkpoint, dict) and all(is_count(checkpoint.get(name)) for name in ("done", "words")):
        if checkpoint["done"] <= len(paths):
            done, words = checkpoint["done"], checkpoint["words"]
    for path in paths[done:]:
        if attempt.stopped.is_set():
            raise Failure("stopped", "the attempt was asked to stop")
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                words += sum(len(line.split()) for line in file)
        except OSError as error:
            raise Failure("unreadable", "%s cannot be read: %s" % (path, error.strerror), retryable=True)
        done += 1
        attempt.save({"done": done, "words": words})
        attempt.progress(done, len(paths), "files")
    return {"words": words, "files": len(paths)}


def is_count(value):
    # True and False are integers in Python.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


KINDS = {
    "count-words": {
        "run": count_words,
        "check": check_count_words,
        "announcement": {
            "summary": "Counts the words of a text",
            "accepts": "AnyOutput",
            "fields": [{"name": "text", "shape": "string", "summary": "the text", "from_dependency": True}],
        },
    },
    "count-files": {
        "run": count_files,
        "announcement": {
            "summary": "Counts the words of text files",
            "fields": [{"name": "paths", "shape": "array", "summary": "the files", "required": True}],
        },
    },
}


# The worker, which needs no change.

class Failure(Exception):
    """Ends an attempt with a failure. Another attempt follows only if it is retryable and the retry policy allows it."""

    def __init__(self, code, message, retryable=False, retry_after_ms=None, detail=None):
        super().__init__(message)
        self.fields = {"code": code, "message": message, "retryable": retryable}
        if retry_after_ms is not None:
            self.fields["retry_after_ms"] = retry_after_ms
        if detail is not None:
            self.fields["detail"] = detail


class Attempt:
    """One attempt of a job, which runs on its own thread."""

    def __init__(self, worker, run, outputs):
        self.worker = worker
        self.run = run
        self.lease = {"job": run["job"], "attempt": run["attempt"]}
        # The outputs of the dependencies, in order: {"kind": ..., "output": ...}.
        self.outputs = outputs
        # What an earlier attempt of the job saved last, or None.
        self.checkpoint = run.get("checkpoint")
        self.saves = 0
        self.answers = queue.SimpleQueue()
        # Set when the attempt should stop. `for_good` is then true if the job will not run again.
        self.stopped = threading.Event()
        self.for_good = False
        self.children = []

    def progress(self, completed, total=None, unit=""):
        message = {"type": "progress", **self.lease, "completed": completed, "unit": unit}
        if total is not None:
            message["total"] = total
        self.worker.send(message)

    def save(self, checkpoint):
        """Saves where another attempt of the job can resume, and returns when that survives a crash.

        It costs a write to the disk. If the daemon cannot save it, the attempt goes on with the former checkpoint.
        """
        if len(encode(checkpoint)) > MAX_CHECKPOINT:
            raise ValueError("the checkpoint is too large; write a file and save its path")
        if not self.worker.checkpoints:
            return
        self.saves += 1
        self.worker.send({"type": "checkpoint", **self.lease, "id": self.saves, "checkpoint": checkpoint})
        answer = self.answers.get()
        if answer["type"] == "checkpoint_refused":
            if answer["reason"] == "lease_lost":
                raise Failure("lease_lost", answer["message"])
            print(answer["message"], file=sys.stderr)

    def enqueue(self, definition, input=None, queue=None, priority=None):
        """Enqueues a job together with the success of this attempt."""
        child = {"definition": definition, "input": input, "queue": queue, "priority": priority}
        self.children.append({name: value for name, value in child.items() if value is not None})

    def end(self):
        """Runs the kind and returns the message about its end."""
        kind = KINDS.get(self.run["kind"])
        if kind is None:
            return self.failed(Failure("unknown_kind", "this worker has no kind " + self.run["kind"]))
        try:
            output = kind["run"](self.run["input"], self)
        except Failure as failure:
            return self.failed(failure)
        except Exception as error:
            traceback.print_exc()
            return self.failed(Failure("exception", type(error).__name__ + "; see the log of the worker"))
        try:
            if len(encode(output)) > MAX_OUTPUT:
                return self.failed(Failure("result_too_large", "write large results to a file and return its path"))
        except ValueError as error:
            return self.failed(Failure("invalid_output", str(error)))
        return {"type": "succeeded", **self.lease, "children": self.children, "output": output}

    def failed(self, failure):
        return {"type": "failed", **self.lease, **failure.fields}


class Worker:
    def __init__(self):
        # Messages get a private descriptor, and print() writes to the log.
        self.output = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        # Each line appears at once, and none is lost if the process is killed.
        sys.stdout.reconfigure(line_buffering=True)
        self.lock = threading.Lock()
        self.attempts = {}
        self.draining = False
        self.outputs = {}
        # Whether the daemon saves checkpoints, which earlier releases do not.
        self.checkpoints = False

    def send(self, message):
        line = encode(message) + b"\n"
        with self.lock:
            while line:
                line = line[self.output.write(line):]

    def run(self, attempt):
        self.send(attempt.end())
        del self.attempts[attempt.lease["job"], attempt.lease["attempt"]]
        self.exit_if_drained()

    def exit_if_drained(self):
        if self.draining and not self.attempts:
            os._exit(0)

    def receive(self, message):
        kind = message["type"]
        key = (message.get("job"), message.get("attempt"))
        if kind == "hello":
            self.introduce(message)
        elif kind == "output":
            self.outputs.setdefault(key, []).append(message)
        elif kind == "run":
            attempt = Attempt(self, message, self.outputs.pop(key, []))
            self.attempts[key] = attempt
            self.send({"type": "started", "attempts": [attempt.lease]})
            threading.Thread(target=self.run, args=(attempt,), daemon=True).start()
        elif kind == "stop":
            attempt = self.attempts.get(key)
            if attempt:
                attempt.for_good = message["for_good"]
                attempt.stopped.set()
        elif kind in ("checkpointed", "checkpoint_refused"):
            attempt = self.attempts.get(key)
            if attempt:
                attempt.answers.put(message)
        elif kind == "check":
            self.send({"type": "checked", "id": message["id"], "refusals": [refusal(i) for i in message["inputs"]]})
        elif kind == "clean_up":
            self.send({"type": "cleaned_up", "id": message["id"], "left": False})
        elif kind == "ping":
            self.send({"type": "pong", "id": message["id"]})
        elif kind == "drain":
            # Goes on reading: the attempts that run may wait for answers to their checkpoints.
            self.draining = True
            self.exit_if_drained()

    def introduce(self, hello):
        if hello["protocol"] != PROTOCOL:
            sys.exit("the daemon speaks version %d of the protocol, this worker %d" % (hello["protocol"], PROTOCOL))
        self.checkpoints = hello.get("checkpoints", False)
        kinds = [
            {"name": name, "checks": "check" in kind, **kind["announcement"]} for name, kind in KINDS.items()
        ]
        self.send({"type": "kinds", "protocol": PROTOCOL, "kinds": kinds})


def refusal(planned):
    check = KINDS.get(planned["kind"], {}).get("check")
    message = check and check(planned["input"], planned["stage"])
    return {"message": message} if message else None


def encode(value):
    """Encodes JSON on one line. Raises ValueError for what JSON, or Halyard, does not accept."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if "\\u0000" in text:
        raise ValueError("a text contains the character U+0000; remove it")
    return text.encode("utf-8")


def main():
    if sys.stdin.isatty():
        sys.exit("halyardd starts this program; name it under `workers` in halyard.yaml")
    worker = Worker()
    # Ends when the daemon closes standard input. Threads that still run end with the process.
    for line in sys.stdin.buffer:
        worker.receive(json.loads(line))


if __name__ == "__main__":
    main()
