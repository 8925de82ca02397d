"""A PostgreSQL server and its standby in a temporary folder. Both listen on TCP and ask for a password."""
import json
import os
import pwd
import shutil
import signal
import subprocess
import time

ROLE = "halyard"
DATABASE = "jobs"
PORT = 5432
STANDBY_PORT = 5434


def programs():
    """The folder of the newest installed server's programs, or None."""
    root = "/usr/lib/postgresql"
    versions = sorted(os.listdir(root), key=float) if os.path.isdir(root) else []
    for version in reversed(versions):
        folder = f"{root}/{version}/bin"
        if os.access(f"{folder}/postgres", os.X_OK):
            return folder
    return None


def end(process):
    process.send_signal(signal.SIGQUIT)
    process.wait()


class Server:
    """The primary and its standby, which the primary waits for, so that the standby has every acknowledged commit.

    The test itself connects to the Unix socket, as the superuser and without a password.
    """

    def __init__(self, folder, namespace):
        # PostgreSQL refuses to run as root. Its package has created the user.
        user = pwd.getpwnam("postgres")
        self.programs = programs()
        self.folder = folder
        self.namespace = namespace
        self.password = "first-password"
        # Of the primary.
        self.port = PORT
        self.process = self.standby = None
        self.deadlocks_before = 0
        os.mkdir(folder)
        os.chown(folder, user.pw_uid, user.pw_gid)
        self.as_user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        self.make("initdb", "--pgdata", self.data(PORT), "--username", "root", "--auth-local", "trust", "--auth-host",
                  "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
        with open(f"{self.data(PORT)}/pg_hba.conf", "a") as file:
            file.write("host all all 0.0.0.0/0 scram-sha-256\n")
        self.log = open(f"{folder}/server.log", "ab")
        self.start()
        self.run(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{self.password}'", "postgres")
        self.run(f"CREATE DATABASE {DATABASE} OWNER {ROLE}", "postgres")
        self.make("pg_basebackup", "--pgdata", self.data(STANDBY_PORT), "--write-recovery-conf", "--checkpoint", "fast",
                  "--no-sync", "--host", folder, "--port", str(PORT), "--username", "root")
        self.standby = self.launch(STANDBY_PORT)
        # Not a setting of the command, since a promoted standby waits for nobody.
        self.run("ALTER SYSTEM SET synchronous_standby_names = '*'", "postgres")
        self.run("SELECT pg_reload_conf()", "postgres")

    def data(self, port):
        return f"{self.folder}/data-{port}"

    def make(self, program, *arguments):
        subprocess.run(
            [*self.as_user, f"{self.programs}/{program}", *arguments], cwd=self.folder, check=True, capture_output=True,
            stdin=subprocess.DEVNULL)

    def launch(self, port):
        """Starts a server process, and returns when it accepts connections."""
        settings = {
            "listen_addresses": "*", "port": port, "unix_socket_directories": self.folder, "max_connections": 100,
            "shared_buffers": "64MB", "dynamic_shared_memory_type": "mmap", "log_lock_waits": "on",
            # The log then names the SQLSTATE of each error.
            "log_error_verbosity": "verbose", "autovacuum_naptime": "5s", "wal_retrieve_retry_interval": "200ms",
        }
        command = [*self.as_user, f"{self.programs}/postgres", "-D", self.data(port)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *command], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, start_new_session=True)
        deadline = time.monotonic() + 60
        while subprocess.run(
                [f"{self.programs}/pg_isready", "--quiet", "--host", self.folder, "--port", str(port)]).returncode != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                end(process)
                raise RuntimeError(f"the server does not start: {self.log_text()[-2000:]}")
            time.sleep(0.05)
        return process

    def start(self):
        self.process = self.launch(self.port)

    def crash(self):
        """An immediate shutdown: the server writes nothing, and recovers at its next start."""
        self.deadlocks_before += self.deadlocks()
        end(self.process)
        self.process = None

    def promote(self):
        """Lets the standby take the place of the primary, which has crashed and never returns."""
        self.port = STANDBY_PORT
        self.process, self.standby = self.standby, None
        self.run("SELECT pg_promote()")

    def close(self):
        for process in (self.process, self.standby):
            if process is not None:
                end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, statement, database=DATABASE, timeout=120):
        """Runs a statement and returns the text of the answer."""
        result = subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", "--host",
             self.folder, "--port", str(self.port), "--username", "root", "--dbname", database],
            input=statement, capture_output=True, text=True, timeout=timeout)
        if result.returncode != 0:
            raise RuntimeError(f"{statement}: {result.stderr.strip()}")
        return result.stdout.strip()

    def rows(self, query):
        """The rows of a query, each a dictionary."""
        return [json.loads(line) for line in self.run(f"SELECT row_to_json(r) FROM ({query}) r").splitlines()]

    def number(self, query):
        return int(self.run(query) or 0)

    def deadlocks(self):
        return self.number(f"SELECT deadlocks FROM pg_stat_database WHERE datname = '{DATABASE}'")

    def log_text(self):
        with open(f"{self.folder}/server.log", errors="replace") as file:
            return file.read()

    # Faults

    def set_password(self, password):
        self.run(f"ALTER ROLE {ROLE} PASSWORD '{password}'")

    def terminate_backends(self, address=None):
        """Ends the connections of the daemon at this address, or of all daemons. Returns how many."""
        here = f"AND client_addr = '{address}'" if address else ""
        return self.number(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            f"WHERE usename = '{ROLE}' AND pid <> pg_backend_pid() {here}")
