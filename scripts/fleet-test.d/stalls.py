"""Records stalls, in which the machine runs nothing, like a suspended virtual machine. No daemon can stop in time then."""
import subprocess
import sys
import time

import fleet

# A wake-up that is late by more seconds than this is a stall.
LATE = 0.5


class Stalls:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            start_new_session=True)
        self.spans = []
        # The number of apparent contradictions that a stall explained.
        self.explained = 0

    def stop(self):
        """Ends the observation. Afterwards, `spans` is complete."""
        self.process.terminate()
        for line in self.process.communicate()[0].splitlines():
            begin, end = line.split()
            self.spans.append((float(begin), float(end)))

    def close(self):
        self.process.kill()
        self.process.wait()

    def explain(self, begin, end):
        """Whether a stall could have delayed a stop so much that attempts overlapped in this span."""
        is_explained = any(first < end and last + fleet.LEASE > begin for first, last in self.spans)
        self.explained += is_explained
        return is_explained

    def longest(self):
        return max((end - begin for begin, end in self.spans), default=0)


def observe():
    last = time.monotonic()
    while True:
        time.sleep(0.05)
        now = time.monotonic()
        if now - last > 0.05 + LATE:
            print(last, now, flush=True)
        last = now


if __name__ == "__main__":
    observe()
