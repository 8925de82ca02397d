"""The faults: two lanes, one for the daemons and their links, one for the server, in an order that the seed decides."""
import random
import threading
import time
from collections import Counter

import fleet

# The slow link's delay in each direction.
DELAY = 0.1
HOT_TABLES = ["halyard.ready", "halyard.running", "halyard.daemon", "halyard.dependency", "halyard.share"]


class Faults:
    def __init__(self, seed, members, network, server, relay, say):
        self.members = members
        self.network = network
        self.server = server
        self.relay = relay
        self.say = say
        self.counts = Counter()
        self.errors = []
        self.stopped = threading.Event()
        self.threads = []
        self.seed = seed

    def lanes(self):
        on_daemons = [
            self.kill_briefly, self.kill_beyond_lease, self.cut_briefly, self.cut_beyond_lease, self.freeze_briefly,
            self.freeze_beyond_lease, self.kill_worker]
        if any(member.clock for member in self.members):
            on_daemons.append(self.move_clock)
        on_server = [
            self.end_backends_of_one, self.end_all_backends, self.crash_server, self.slow_link, self.lose_commits,
            self.limit_connections, self.change_password, self.rotate_password, self.vacuum_full, self.fill_disk,
            self.migrate, self.fail_over]
        return {"daemons": on_daemons, "server": on_server}

    def kinds(self):
        return [fault.__name__ for lane in self.lanes().values() for fault in lane]

    def start(self, until):
        """Starts both lanes. Each begins every fault of its list once, then others at random until that time."""
        for name, lane in self.lanes().items():
            chance = random.Random(f"{self.seed}-{name}")
            thread = threading.Thread(target=self.run, args=(chance, lane, until), daemon=True)
            thread.start()
            self.threads.append(thread)

    def run(self, chance, lane, until):
        first = lane[:]
        chance.shuffle(first)
        self.pause(1 + chance.random())
        while (first or time.monotonic() < until) and not self.stopped.is_set():
            fault = first.pop() if first else chance.choice(lane)
            if fault == self.fail_over and not self.server.standby:
                continue
            try:
                fault(chance)
                self.counts[fault.__name__] += 1
            except Exception as error:
                self.errors.append(f"{fault.__name__}: {error!r}")
                self.say(f"the fault {fault.__name__} failed: {error!r}")
            self.pause(0.5 + 2 * chance.random())

    def is_done(self):
        return not any(thread.is_alive() for thread in self.threads)

    def pause(self, seconds):
        self.stopped.wait(seconds)

    # Daemons

    def kill_briefly(self, chance):
        self.kill(chance, 0.2 + 3 * chance.random())

    def kill_beyond_lease(self, chance):
        self.kill(chance, fleet.LEASE + 2 + 2 * chance.random())

    def kill(self, chance, seconds):
        member = chance.choice(self.members)
        self.say(f"kill -9 of {member.name}, started again after {seconds:.1f} s")
        member.kill()
        try:
            self.pause(seconds)
        finally:
            member.start()

    def cut_briefly(self, chance):
        self.cut(chance, 1 + 3 * chance.random())

    def cut_beyond_lease(self, chance):
        self.cut(chance, fleet.LEASE + 3 + 4 * chance.random())

    def cut(self, chance, seconds):
        member = chance.choice(self.members)
        self.say(f"the link of {member.name} is down for {seconds:.1f} s")
        self.network.cut(member.name)
        try:
            self.pause(seconds)
        finally:
            self.network.mend(member.name)

    def freeze_briefly(self, chance):
        self.freeze(chance, 1 + 2 * chance.random())

    def freeze_beyond_lease(self, chance):
        self.freeze(chance, fleet.LEASE + 2 + 3 * chance.random())

    def freeze(self, chance, seconds):
        member = chance.choice(self.members)
        self.say(f"SIGSTOP of {member.name} and its workers for {seconds:.1f} s")
        member.freeze()
        try:
            self.pause(seconds)
        finally:
            member.thaw()

    def kill_worker(self, chance):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for member in chance.sample(self.members, len(self.members)):
                if member.kill_worker():
                    self.say(f"kill -9 of a worker of {member.name}")
                    return
            # The schedule's next job starts one.
            self.pause(0.2)
        raise RuntimeError("no daemon has a worker")

    def move_clock(self, chance):
        member = next(member for member in self.members if member.clock)
        hours = [3600, -3600]
        chance.shuffle(hours)
        for seconds in hours:
            self.say(f"the clock of {member.name} is {seconds:+} s from that of the machine")
            member.set_clock(seconds)
            self.pause(3 + chance.random())
        member.set_clock(0)

    # Server

    def end_backends_of_one(self, chance):
        member = chance.choice(self.members)
        ended = self.server.terminate_backends(member.address)
        self.say(f"pg_terminate_backend of {ended} connections of {member.name}")

    def end_all_backends(self, chance):
        for _ in range(chance.choice([1, 3])):
            self.say(f"pg_terminate_backend of all {self.server.terminate_backends()} connections")
            self.pause(0.3)

    def crash_server(self, chance):
        seconds = 0.1 + 3 * chance.random()
        self.say(f"immediate shutdown of the server, started again after {seconds:.1f} s")
        self.server.crash()
        try:
            self.pause(seconds)
        finally:
            self.server.start()

    def fail_over(self, chance):
        """Happens only once: there is one standby."""
        seconds = 0.5 + 2 * chance.random()
        self.say(f"the server is lost, and its standby takes its place after {seconds:.1f} s")
        self.server.crash()
        try:
            self.pause(seconds)
        finally:
            self.server.promote()
            self.relay.set_server_port(self.server.port)

    def slow_link(self, chance):
        seconds = 5 + 3 * chance.random()
        self.say(f"200 ms for each round trip of {self.members[-1].name} for {seconds:.1f} s")
        self.relay.delay(DELAY)
        try:
            self.pause(seconds)
        finally:
            self.relay.delay(0)

    def lose_commits(self, chance):
        """Returns after at least one commit that was carried out and not answered."""
        before = self.relay.lost_commits()
        deadline = time.monotonic() + 60
        self.relay.lose_commits(True)
        try:
            self.pause(1 + 2 * chance.random())
            while self.relay.lost_commits() == before:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{self.members[-1].name} committed nothing within a minute")
                self.pause(0.2)
        finally:
            self.relay.lose_commits(False)
        self.say(f"{self.relay.lost_commits() - before} answers to commits of {self.members[-1].name} were lost")

    def limit_connections(self, chance):
        limit = chance.choice([0, 2, 5])
        ended = 0
        self.server.run(f"ALTER ROLE halyard CONNECTION LIMIT {limit}")
        try:
            ended = self.server.terminate_backends()
            self.say(f"a limit of {limit} connections instead of {ended}")
            self.pause(2 + 2 * chance.random())
        finally:
            self.server.run("ALTER ROLE halyard CONNECTION LIMIT -1")

    def change_password(self, chance):
        seconds = 2 + 2 * chance.random()
        self.say(f"a wrong password for {seconds:.1f} s")
        self.server.set_password("another-password")
        try:
            self.server.terminate_backends()
            self.pause(seconds)
        finally:
            self.server.set_password(self.server.password)

    def rotate_password(self, chance):
        self.server.password = f"password-{chance.randrange(1 << 32)}"
        self.say("a new password, which the daemons' files contain a second later")
        self.server.set_password(self.server.password)
        self.server.terminate_backends()
        self.pause(1)
        for member in self.members:
            member.set_password(self.server.password)

    def fill_disk(self, chance):
        seconds = 2 + 2 * chance.random()
        try:
            self.server.fill_disk()
            self.say(f"the disk of the server is full for {seconds:.1f} s")
            self.pause(seconds)
        finally:
            self.server.free_disk()

    def migrate(self, chance):
        """Makes the schema newer than all daemons, also those that start again later."""
        began = time.monotonic()
        version = self.server.migrate()
        self.say(f"the migration to schema {version} took {time.monotonic() - began:.1f} s")

    def vacuum_full(self, chance):
        for table in chance.sample(HOT_TABLES, 3):
            began = time.monotonic()
            self.server.run(f"VACUUM FULL {table}")
            self.say(f"VACUUM FULL {table} took {time.monotonic() - began:.1f} s")
