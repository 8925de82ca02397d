#!/usr/bin/env python3
"""Compares Halyard on PostgreSQL with other job runners on the same server.

scripts/bench calls it with the folder of the built programs, followed by its own remaining arguments:

    fleet.py PROGRAMS [--minutes M] [--only PART,...] [--systems NAME,...] [--place FOLDER]

Parts: rate (jobs/s from the first enqueue to the last final job, 1, 2 and 4 processes), latency (from the call that
enqueues a job to the start of its code, at 800 jobs/s), hold (the same load while a transaction holds a snapshot for M
minutes, 10 by default, and backlogs in turn with a control: the same system with a database that has no snapshot), restart
(at the end of hold: 450,000 jobs under that snapshot, then a restart of the daemon), storage (bytes per final job, after a
million jobs of Halyard). A system that cannot run 800 jobs/s gets a lower rate. The server commits to disk (fsync,
synchronous_commit). "sqlite" is one daemon of Halyard with a file on the same disk, for rate and latency.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = ["pgqueuer==1.6.0", "procrastinate==3.10.0", "awa-pg==0.6.9", "asyncpg==0.32.0", "psycopg[binary]==3.3.9"]
PARTS = ["rate", "latency", "hold", "restart", "storage"]
SYSTEMS = ["halyard", "sqlite", "pgqueuer", "awa", "procrastinate"]
# Halyard, on a server or with a file.
OURS = ["halyard", "sqlite"]
# The number of jobs that are enqueued at once, and the jobs/s that are enqueued evenly.
JOBS = {"halyard": 60_000, "sqlite": 60_000, "pgqueuer": 20_000, "awa": 20_000, "procrastinate": 1_000}
OFFERED = {"halyard": 800, "sqlite": 800, "pgqueuer": 800, "awa": 800, "procrastinate": 60}
ROUNDS = 3
BACKLOG = 450_000
STORED = 1_000_000


def say(text):
    print(f"fleet: {text}", file=sys.stderr, flush=True)


class Failed(Exception):
    pass


def python():
    """Returns the path of a Python in which the other systems are installed. Creates it if necessary."""
    place = f"{ROOT}/.build/bench-peers"
    wanted = " ".join([ROOT, *PEERS])
    try:
        with open(f"{place}/installed") as file:
            if file.read() == wanted:
                return f"{place}/bin/python"
    except OSError:
        # The environment does not exist yet.
        say(f"installing {' '.join(PEERS)}")
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run(["/usr/bin/python3", "-m", "venv", place], check=True)
    subprocess.run([f"{place}/bin/pip", "--quiet", "--disable-pip-version-check", "install", *PEERS], check=True)
    with open(f"{place}/installed", "w") as file:
        file.write(wanted)
    return f"{place}/bin/python"


class Server:
    def __init__(self, place):
        settings = [
            "shared_buffers=256MB", "max_wal_size=4GB", "fsync=on", "synchronous_commit=on", "full_page_writes=on",
            "autovacuum_naptime=10s"]
        self.process = subprocess.Popen(
            [f"{ROOT}/scripts/test.d/postgres", "--in", place, *settings], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Failed("PostgreSQL did not start")

    def database(self, name):
        self.query(self.url, f'CREATE DATABASE "{name}"')
        return self.url.replace("/postgres?", f"/{name}?")

    @staticmethod
    def query(url, statement):
        result = subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", url],
            input=statement, capture_output=True, text=True)
        if result.returncode != 0:
            raise Failed(f"{statement}: {result.stderr.strip()}")
        return result.stdout.strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Hold:
    """An idle transaction that holds a snapshot."""

    def __init__(self, url):
        self.process = subprocess.Popen(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", url], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.process.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current();\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    """Another system, which runs in processes of peer.py."""

    def __init__(self, name, server, folder, python, database):
        self.name = name
        self.folder = f"{folder}/{database}"
        os.mkdir(self.folder)
        self.python = python
        self.url = server.database(database)
        self.processes = []
        self.starts = f"{self.folder}/starts"
        # The number of starts counted so far, and the number of bytes read.
        self.counted = (0, 0)
        self.finish(self.command("prepare"), "prepare")

    def command(self, *arguments, url=None, wait_for_begin=False):
        errors = open(f"{self.folder}/errors", "ab")
        process = subprocess.Popen(
            [self.python, f"{HERE}/peer.py", self.name, url or self.url, *[str(argument) for argument in arguments]],
            stdout=subprocess.PIPE, stderr=errors, text=True)
        errors.close()
        if wait_for_begin:
            process.stdout.readline()
        return process

    def finish(self, process, what):
        if process.wait() != 0:
            with open(f"{self.folder}/errors") as file:
                raise Failed(f"{self.name}, {what}: {file.read()[-2000:]}")

    def start(self, count):
        self.processes = [self.command("work", self.starts) for _ in range(count)]
        # The workers are ready when they have started a few jobs.
        self.pace(20, 3)

    def stop(self):
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []

    def started(self):
        """Returns the time of the first start of each job."""
        times = {}
        with open(self.starts) as file:
            for line in file:
                job, moment = line.split()
                times.setdefault(job, int(moment))
        return times

    def left(self):
        process = self.command("left")
        answer = process.stdout.read()
        self.finish(process, "left")
        return int(answer)

    def fill(self, count):
        self.finish(self.command("fill", count, wait_for_begin=True), "fill")

    def drain(self, count, patience=600):
        """Enqueues jobs and waits until all are final. Returns the rate in jobs/s."""
        before = self.handled()
        began = time.monotonic()
        self.fill(count)
        deadline = began + patience
        while self.handled() < before + count:
            self.check(deadline)
            time.sleep(0.02)
        while self.left() > 0:
            self.check(deadline)
        return count / (time.monotonic() - began)

    def check(self, deadline):
        if time.monotonic() > deadline:
            raise Failed(f"{self.name} did not finish its jobs in time")

    def handled(self):
        """The number of starts so far, by counting lines."""
        if not os.path.exists(self.starts):
            return 0
        size = os.path.getsize(self.starts)
        count, offset = self.counted
        with open(self.starts, "rb") as file:
            file.seek(offset)
            data = file.read(size - offset)
        end = data.rfind(b"\n") + 1
        self.counted = (count + data.count(b"\n", 0, end), offset + end)
        return self.counted[0]

    def pace(self, rate, seconds, url=None, patience=120):
        """Enqueues jobs evenly. Returns the milliseconds from each call, in order, to the job's start, and starts/s."""
        out = f"{self.folder}/calls"
        self.finish(self.command("pace", rate, seconds, out, url=url, wait_for_begin=True), "pace")
        with open(out) as file:
            calls = [line.split() for line in file]
        deadline = time.monotonic() + patience
        while True:
            times = self.started()
            if all(job in times for job, _ in calls):
                break
            self.check(deadline)
            time.sleep(0.2)
        calls.sort(key=lambda call: int(call[1]))
        last = max(times[job] for job, _ in calls)
        span = max(seconds, (last - int(calls[0][1])) / 1e9)
        return [(times[job] - int(moment)) / 1e6 for job, moment in calls], len(calls) / span


class Halyard(Peer):
    """Daemons of this build. Their workers are processes of halyard-bench with a kind that does nothing."""

    def __init__(self, server, folder, python, database, programs):
        self.name = "halyard"
        self.folder = f"{folder}/{database}"
        os.mkdir(self.folder)
        self.python = python
        self.programs = programs
        self.url = server.database(database)
        self.processes = []
        self.starts = f"{self.folder}/starts"
        self.counted = (0, 0)

    def path(self, number, name):
        return f"{self.folder}/{number}/{name}"

    def place(self, number):
        return {"database": self.url, "home": self.path(number, "home")}

    def start(self, count):
        self.processes = []
        for number in range(count):
            os.makedirs(self.path(number, ""), exist_ok=True)
            environment = {"HALYARD_BENCH_ROLE": "worker", "HALYARD_BENCH_STARTS": self.starts}
            configuration = {
                **self.place(number), "socket": self.path(number, "halyard.sock"),
                "definitions": self.path(number, "definitions.yaml"), "daemon": {"name": f"daemon-{number}"},
                "slots": 256, "spool": {"directory": self.path(number, "spool")},
                "workers": {"bench": {
                    "command": [f"{self.programs}/halyard-bench"], "attempts": 256, "environment": environment}}}
            definitions = {"queues": {"default": {"limit": 1024}}, "definitions": {"noop": {"kind": "noop"}}}
            for file, value in (("halyard.yaml", configuration), ("definitions.yaml", definitions)):
                with open(self.path(number, file), "w") as out:
                    # JSON is also YAML.
                    json.dump(value, out)
            with open(self.path(number, "log"), "ab") as log:
                self.processes.append(subprocess.Popen(
                    [f"{self.programs}/halyardd", "--config", self.path(number, "halyard.yaml")],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        for number in range(count):
            deadline = time.monotonic() + 60
            while self.halyard(number, "status").returncode != 0:
                if time.monotonic() > deadline:
                    with open(self.path(number, "log")) as file:
                        raise Failed(f"halyardd did not start: {file.read()[-2000:]}")
                time.sleep(0.1)
        self.sockets = ",".join(self.path(number, "halyard.sock") for number in range(count))
        self.pace(20, 3)

    def halyard(self, number, *arguments):
        return subprocess.run(
            [f"{self.programs}/halyard", *arguments, "--socket", self.path(number, "halyard.sock")],
            capture_output=True, text=True)

    def left(self):
        status = json.loads(self.halyard(0, "status", "--json").stdout)
        return sum(count for state, count in status["counts"].items()
                   if state in ("blocked", "scheduled", "ready", "running"))

    def fill(self, count):
        lines = f"{self.folder}/lines"
        line = json.dumps({"definition": "noop", "input": {"pad": "i" * 200}})
        daemons = len(self.processes)
        with open(lines, "w") as file:
            file.write(f"{line}\n" * (count // daemons))
        callers = [subprocess.Popen(
            [f"{self.programs}/halyard", "enqueue", "--lines", lines, "--socket", self.path(number, "halyard.sock")],
            stdout=subprocess.DEVNULL) for number in range(daemons)]
        for caller in callers:
            if caller.wait() != 0:
                raise Failed("halyard enqueue --lines failed")

    def pace(self, rate, seconds, patience=120):
        return super().pace(rate, seconds, url=self.sockets, patience=patience)

    def ends(self):
        """The milliseconds from the call that enqueues a job to the response with its result, in the last pace."""
        with open(f"{self.folder}/calls.ends") as file:
            return [int(line) / 1e6 for line in file]


class HalyardWithFile(Halyard):
    """One daemon with an SQLite file on the disk that the server uses."""

    def __init__(self, folder, python, place, programs):
        self.name = "halyard"
        self.folder = f"{folder}/sqlite"
        os.mkdir(self.folder)
        self.python = python
        self.programs = programs
        self.files = tempfile.TemporaryDirectory(prefix="halyard-fleet-bench.", dir=place)
        self.processes = []
        self.starts = f"{self.folder}/starts"
        self.counted = (0, 0)

    def place(self, number):
        return {"database": f"{self.files.name}/halyard.db"}


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def dead_rows(url):
    return int(Server.query(url, "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables"))


def database_bytes(url):
    return int(Server.query(url, "SELECT pg_database_size(current_database())"))


class Bench:
    def __init__(self, options, folder, server):
        self.options = options
        self.server = server
        self.rows = []
        self.folder = folder
        self.python = python()
        self.systems = {name: self.system(name) for name in options.systems}
        self.latencies = {}

    def system(self, name, *more):
        """Returns a system with a database of its own."""
        database = "-".join([name, *more])
        if name == "sqlite":
            return HalyardWithFile(self.folder, self.python, self.options.place, self.options.programs)
        if name == "halyard":
            return Halyard(self.server, self.folder, self.python, database, self.options.programs)
        return Peer(name, self.server, self.folder, self.python, database)

    def row(self, what, system, value, unit, limit=None, holds=True, ratio=None):
        self.rows.append({
            "what": what, "system": system, "value": round(value, 3), "unit": unit, "limit": limit, "holds": holds,
            "ratio": None if ratio is None else round(ratio, 3)})
        say(f"{what}, {system}: {value:.4g} {unit}")

    def rate(self):
        best = {}
        for count in (1, 2, 4):
            # A file has one daemon.
            systems = {name: system for name, system in self.systems.items() if name != "sqlite" or count == 1}
            rates = {name: [] for name in systems}
            for _ in range(ROUNDS):
                for name, system in systems.items():
                    system.start(count)
                    try:
                        rates[name].append(system.drain(JOBS[name]))
                    finally:
                        system.stop()
            for name, values in rates.items():
                median = statistics.median(values)
                self.row(f"enqueue to final, {count} processes", name, median, "jobs/s")
                best[name] = max(best.get(name, 0), median)
        others = [rate for name, rate in best.items() if name not in OURS]
        if "halyard" in best and others:
            ratio = best["halyard"] / max(others)
            self.row("best rate, against the best other", "halyard", best["halyard"], "jobs/s", "ratio ≥ 2", ratio >= 2,
                     ratio)

    def latency(self):
        for name, system in self.systems.items():
            system.start(1)
            try:
                delays, ends = [], []
                for _ in range(ROUNDS):
                    delays += system.pace(OFFERED[name], 20)[0]
                    ends += system.ends() if name in OURS else []
            finally:
                system.stop()
            p99 = quantile(delays, 0.99)
            self.latencies[name] = p99
            offered = f"at {OFFERED[name]}/s"
            self.row(f"enqueue to start, p50 {offered}", name, quantile(delays, 0.5), "ms")
            if name in OURS:
                self.row(f"enqueue to start, p99 {offered}", name, p99, "ms")
                self.row(f"enqueue to the caller's result, p50 {offered}", name, quantile(ends, 0.5), "ms")
                end = quantile(ends, 0.99)
                self.row(f"enqueue to the caller's result, p99 {offered}", name, end, "ms", "≤ 25", end <= 25)
            else:
                self.row(f"enqueue to start, p99 {offered}", name, p99, "ms")

    def hold(self):
        for name, system in self.systems.items():
            if name == "sqlite":
                continue
            control = self.system(name, "control")
            try:
                system.start(1)
                control.start(1)
                before = quantile(system.pace(OFFERED[name], 60)[0], 0.99)
                rate, ratio = self.backlogs(name, system, control)
                self.row("rate of a backlog, against the control", name, rate, "jobs/s", ratio=ratio)
                holder = Hold(system.url)
                try:
                    self.held(name, system, control, before)
                finally:
                    holder.close()
            except Failed as error:
                self.row("under a held snapshot", name, 0, f"failed: {error}", "finishes", name != "halyard")
            finally:
                system.stop()
                control.stop()

    @staticmethod
    def backlogs(name, system, control):
        """Returns the median rate of several backlogs, and its ratio to that of the control.

        The control is the same system with a database of its own, which no snapshot affects. Both run in turn, since the
        machine may become slower or faster within minutes.
        """
        rates, controls = [], []
        for _ in range(ROUNDS):
            rates.append(system.drain(JOBS[name]))
            controls.append(control.drain(JOBS[name]))
        return statistics.median(rates), statistics.median(rates) / statistics.median(controls)

    def held(self, name, system, control, before):
        offered = OFFERED[name]
        seconds = self.options.minutes * 60
        delays, rate = system.pace(offered, seconds, patience=600)
        last = quantile(delays[-offered * 60:], 0.99)
        dead, size = dead_rows(system.url), database_bytes(system.url)
        minutes = f"{self.options.minutes:g} minutes under a snapshot"
        is_ours = name == "halyard"
        self.row(f"rate of {offered}/s during {minutes}", name, rate, "jobs/s", "ratio ≥ 0.95",
                 not is_ours or rate >= 0.95 * offered, rate / offered)
        self.row(f"p99 of the last minute of {minutes}", name, last, "ms", "ratio ≤ 2",
                 not is_ours or last <= 2 * before, last / before)
        self.row(f"dead rows after {minutes}", name, dead, "rows")
        self.row(f"size after {minutes}", name, size / 1e6, "MB")
        rate, ratio = self.backlogs(name, system, control)
        self.row("rate of a backlog under the snapshot, against the control", name, rate, "jobs/s", "ratio ≥ 0.95",
                 not is_ours or ratio >= 0.95, ratio)
        if is_ours and "restart" in self.options.only:
            self.restart(system, control, before)

    def restart(self, system, control, before):
        rate = system.drain(BACKLOG)
        self.row(f"{BACKLOG:,} jobs under the snapshot", "halyard", rate, "jobs/s")
        self.row("dead rows after these jobs", "halyard", dead_rows(system.url), "rows")
        system.stop()
        system.start(1)
        p99 = quantile(system.pace(OFFERED["halyard"], 60)[0], 0.99)
        self.row("p99 of a daemon restarted under the snapshot", "halyard", p99, "ms", "ratio ≤ 2", p99 <= 2 * before,
                 p99 / before)
        rate, ratio = self.backlogs("halyard", system, control)
        self.row("rate of a daemon restarted under the snapshot, against the control", "halyard", rate, "jobs/s",
                 "ratio ≥ 0.95", ratio >= 0.95, ratio)

    def storage(self):
        for name, system in self.systems.items():
            if name == "sqlite":
                continue
            system.start(1)
            try:
                Server.query(system.url, "VACUUM FULL")
                size = database_bytes(system.url)
                count = STORED if name == "halyard" else JOBS[name] * 4
                system.drain(count)
            finally:
                system.stop()
            Server.query(system.url, "VACUUM FULL")
            self.row("storage per final job", name, (database_bytes(system.url) - size) / count, "bytes")


def print_report(rows):
    titles = ["ratio", "what", "system", "value", "unit", "limit", ""]
    cells = [[
        "-" if row["ratio"] is None else f"{row['ratio']:.3f}", row["what"], row["system"],
        f"{row['value']:.0f}" if row["value"] >= 1000 else f"{row['value']:.3g}", row["unit"], row["limit"] or "-",
        "holds" if row["holds"] else "MISSED"] for row in rows]
    widths = [max(len(line[column]) for line in [titles, *cells]) for column in range(len(titles))]
    for line in [titles, *cells]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    print(json.dumps(rows, sort_keys=True, ensure_ascii=False))


def words(known):
    def parse(text):
        chosen = text.split(",")
        for word in chosen:
            if word not in known:
                raise argparse.ArgumentTypeError(f"no \"{word}\"; there are: {', '.join(known)}")
        return chosen
    return parse


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench fleet", description=__doc__.split("\n\n")[0])
    parser.add_argument("programs", help=argparse.SUPPRESS)
    parser.add_argument("--minutes", type=float, default=10, help="how many minutes the snapshot is held (default: 10)")
    parser.add_argument("--only", type=words(PARTS), default=PARTS,
                        help=f"separated by commas (default: {','.join(PARTS)})")
    parser.add_argument("--systems", type=words(SYSTEMS), default=SYSTEMS,
                        help=f"separated by commas (default: {','.join(SYSTEMS)})")
    parser.add_argument("--place", default="/var/tmp", help="the folder for the database (default: /var/tmp)")
    options = parser.parse_args()
    if "restart" in options.only and "hold" not in options.only:
        parser.error("restart is a part of hold; write --only hold,restart")
    folder = tempfile.mkdtemp(prefix="halyard-fleet-bench.")
    server = None
    systems = []
    try:
        server = Server(options.place)
        bench = Bench(options, folder, server)
        systems = bench.systems.values()
        for part in PARTS:
            if part in options.only and part != "restart":
                getattr(bench, part)()
        print_report(bench.rows)
        return 0 if all(row["holds"] for row in bench.rows) else 1
    except Failed as error:
        print(f"fleet: {error}", file=sys.stderr)
        return 70
    finally:
        for system in systems:
            system.stop()
        if server:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())
