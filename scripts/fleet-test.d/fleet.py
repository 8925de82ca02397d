"""The daemons, their workers, and the requests to their sockets."""
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time

from network import RELAY_PORT
from server import STANDBY_PORT

# Exit status of a daemon that asks to be started again, as systemd does.
TRY_AGAIN = 75
LEASE = 10
GRACE = 2
WORKER_PATIENCE = 20


def is_running(pid):
    """Whether the process exists and is not a zombie. Its number is not reused this soon."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Daemon:
    """One daemon. The supervisor starts it again when it has asked for that; any other end is recorded as a death."""

    def __init__(self, name, folder, network, programs, port, clock=None):
        self.name = name
        self.folder = folder
        self.network = network
        self.programs = programs
        self.port = port
        # As the server sees it: the relay runs beside the server.
        self.address = network.addresses[name] if port != RELAY_PORT else network.server_address
        self.clock = clock
        self.process = None
        self.wanted = False
        self.deaths = []
        self.refused_starts = 0
        # Workers that did not notice in time that their daemon had been killed.
        self.late_workers = 0
        # Spans (from, to) in which the processes did not run, so that nothing could stop the attempts.
        self.frozen = []
        self.lock = threading.Lock()
        # The last process that has answered a request.
        self.ready = None
        os.mkdir(folder)
        os.mkdir(f"{folder}/credentials")

    def path(self, name):
        return f"{self.folder}/{name}"

    def configure(self, definitions, worker, password):
        self.set_password(password)
        ports = [self.port] if self.port == RELAY_PORT else [self.port, STANDBY_PORT]
        hosts = ",".join(f"{self.network.server_address}:{port}" for port in ports)
        environment = {"FLEET_JOURNAL": self.path("journal"), "FLEET_DAEMON": self.name}
        configuration = {
            "database": f"postgresql://halyard@{hosts}/jobs?target_session_attrs=read-write",
            "home": self.path("home"), "socket": self.path("halyard.sock"), "definitions": definitions,
            "daemon": {"name": self.name, "lease": f"{LEASE}s"}, "slots": 48, "grace": f"{GRACE}s",
            "drain_timeout": "5s", "log": {"level": "info"},
            "workers": {"steps": {
                "command": [worker], "processes": 2, "attempts": 24, "environment": environment}},
        }
        with open(self.path("halyard.yaml"), "w") as file:
            # JSON is also YAML.
            json.dump(configuration, file)
        with open(self.path("journal"), "w"):
            pass

    def set_password(self, password):
        with open(self.path("credentials/new"), "w") as file:
            file.write(password)
        os.rename(self.path("credentials/new"), self.path("credentials/postgresql"))

    def start(self):
        with self.lock:
            self.wanted = True
            self.launch()

    def launch(self):
        environment = dict(
            os.environ, SWIFT_BACKTRACE="enable=no", TZ="UTC", CREDENTIALS_DIRECTORY=self.path("credentials"))
        if self.clock:
            environment.update(LD_PRELOAD=self.clock, HALYARD_CLOCK=self.path("clock"))
            self.set_clock(0)
        with open(self.path("daemon.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.network.namespace(self.name), f"{self.programs}/halyardd", "--config",
                 self.path("halyard.yaml")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True)

    def supervise(self):
        """One look at the process. The caller repeats it until the test ends."""
        with self.lock:
            if not self.wanted:
                return
            status = self.process.poll()
            if status is None:
                return
            if status == TRY_AGAIN and self.ready is not self.process:
                self.refused_starts += 1
            else:
                self.deaths.append((time.monotonic(), status))
            self.launch()

    def tree(self):
        """The daemon and its descendants."""
        found, queue = [], [self.process.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children") as file:
                        queue += [int(child) for child in file.read().split()]
            except OSError:
                # The process has ended.
                continue
        return found

    # Faults

    def kill(self):
        """Kills the daemon; its workers notice that. It stays away until `start`.

        Like a service manager, the test does not start it again before all of its processes have ended.
        """
        with self.lock:
            self.wanted = False
            workers = self.tree()[1:]
            self.process.kill()
            self.process.wait()
            deadline = time.monotonic() + WORKER_PATIENCE
            for pid in workers:
                while is_running(pid):
                    if time.monotonic() > deadline:
                        os.kill(pid, signal.SIGKILL)
                        self.late_workers += 1
                        deadline = time.monotonic() + WORKER_PATIENCE
                    time.sleep(0.01)

    def kill_worker(self):
        """Kills one worker process; returns whether there was one."""
        with self.lock:
            children = self.tree()[1:]
            for pid in children:
                try:
                    os.kill(pid, signal.SIGKILL)
                    return True
                except ProcessLookupError:
                    continue
        return False

    def freeze(self):
        """Stops all processes, as a machine that is suspended."""
        with self.lock:
            self.frozen.append([time.monotonic(), None])
            self.stopped = self.tree()
            self.signal_all(signal.SIGSTOP)

    def thaw(self):
        with self.lock:
            self.frozen[-1][1] = time.monotonic()
            self.signal_all(signal.SIGCONT)

    def signal_all(self, number):
        for pid in self.stopped:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                # It ended before this signal.
                continue

    def set_clock(self, seconds):
        """Sets the daemon's wall clock to the machine's time plus these seconds, in place, since it is mapped."""
        descriptor = os.open(self.path("clock"), os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(descriptor, (seconds * 10**9).to_bytes(8, "little", signed=True), 0)
        os.close(descriptor)

    def stop(self, patience=90):
        """Stops the daemon as systemd does. Returns its exit status, or None if it had to be killed."""
        with self.lock:
            self.wanted = False
            if self.process is None:
                return 0
            self.process.terminate()
            try:
                return self.process.wait(patience)
            except subprocess.TimeoutExpired:
                for pid in self.tree():
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        # It has ended since the look.
                        continue
                self.process.wait()
                return None

    # Requests

    def request(self, method, path, body=None, timeout=20):
        """The status and the decoded answer. Raises OSError or HTTPException if there is none."""
        # A late answer of a killed process does not count for the next one.
        process = self.process
        connection = UnixConnection(self.path("halyard.sock"), timeout)
        try:
            headers = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, f"/v1/{path}", None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            data = response.read()
            try:
                answer = json.loads(data) if data else None
            except ValueError as error:
                raise http.client.HTTPException(f"an incomplete answer: {error}") from error
            self.ready = process
            return response.status, answer
        finally:
            connection.close()

    def answers(self):
        try:
            return self.request("GET", "queues", timeout=5)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def log_text(self):
        with open(self.path("daemon.log"), errors="replace") as file:
            return file.read()

    def journal(self):
        """The lines of the journal. The last line of a killed worker may be incomplete."""
        with open(self.path("journal")) as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
