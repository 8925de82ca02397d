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
# The size of each server's disk.
DISK = 1 << 30


def programs():
    """The folder of the newest installed server's programs, or that in the environment; None if there is none."""
    if chosen := os.environ.get("HALYARD_TEST_POSTGRES"):
        return chosen
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


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)


# Adds columns and tables, and creates all views again.
MIGRATION = f"""
SET ROLE {ROLE};
BEGIN;
CREATE TEMPORARY TABLE old_view ON COMMIT DROP AS
SELECT oid, relname::text AS name, pg_get_viewdef(oid) AS sql
FROM   pg_class
WHERE  relnamespace = 'halyard'::regnamespace AND relkind = 'v';
DO $$
DECLARE
    old record;
    column_name text := 'later_' || (SELECT version FROM halyard.schema_version);
BEGIN
    PERFORM pg_advisory_xact_lock(x'48616C79617264'::bigint);
    FOR old IN SELECT relname FROM pg_class WHERE relnamespace = 'halyard'::regnamespace AND relkind IN ('r', 'p', 'v')
               AND NOT relispartition ORDER BY oid LOOP
        EXECUTE format('LOCK TABLE halyard.%I IN ACCESS EXCLUSIVE MODE NOWAIT', old.relname);
    END LOOP;
    FOR old IN SELECT * FROM old_view ORDER BY oid DESC LOOP
        EXECUTE format('DROP VIEW halyard.%I', old.name);
    END LOOP;
    FOR old IN SELECT relname FROM pg_class WHERE relnamespace = 'halyard'::regnamespace AND relkind IN ('r', 'p')
               AND NOT relispartition AND relname <> 'schema_version' ORDER BY oid LOOP
        EXECUTE format('ALTER TABLE halyard.%I ADD COLUMN %I text', old.relname, column_name);
    END LOOP;
    FOR old IN SELECT * FROM old_view ORDER BY oid LOOP
        EXECUTE format('CREATE VIEW halyard.%I AS %s', old.name, old.sql);
    END LOOP;
    EXECUTE format('CREATE TABLE halyard.%I (id bigint PRIMARY KEY)', column_name);
    PERFORM halyard.grant_roles();
END $$;
UPDATE halyard.schema_version SET version = version + 1;
COMMIT;
SELECT version FROM halyard.schema_version;
"""


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
        for port in (PORT, STANDBY_PORT):
            # Each server has its own disk, which the test can fill.
            os.mkdir(self.data(port))
            mount("-t", "tmpfs", "-o", f"size={DISK},mode=0700,uid={user.pw_uid},gid={user.pw_gid}", "halyard-fleet",
                  self.data(port))
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
            # The standby must find the log that it has missed. Both sizes fit on the disk.
            "wal_keep_size": "256MB", "max_wal_size": "256MB",
        }
        command = [*self.as_user, f"{self.programs}/postgres", "-D", self.data(port)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *command], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, start_new_session=True)
        deadline = time.monotonic() + 120
        while not self.accepts(port):
            if process.poll() is not None or time.monotonic() > deadline:
                end(process)
                raise RuntimeError(f"the server does not start: {self.log_text()[-2000:]}")
            time.sleep(0.05)
        return process

    def accepts(self, port):
        """Whether the server accepts connections."""
        return subprocess.run(
            [f"{self.programs}/pg_isready", "--quiet", "--host", self.folder, "--port", str(port)]).returncode == 0

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
        for port in (PORT, STANDBY_PORT):
            subprocess.run(["umount", "--lazy", self.data(port)], capture_output=True)
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

    def fill_disk(self):
        """Fills the disk. Returns when the server has refused to write."""
        self.run("CREATE TABLE IF NOT EXISTS public.ballast (content text)")
        place = self.data(self.port)
        deadline = time.monotonic() + 60
        while True:
            facts = os.statvfs(place)
            used = (facts.f_blocks - facts.f_bfree) * facts.f_frsize
            try:
                mount("-o", f"remount,size={used}", place)
                break
            except subprocess.CalledProcessError:
                # The server has written meanwhile, so this size would be too small.
                if time.monotonic() > deadline:
                    raise
        while True:
            try:
                self.run("INSERT INTO public.ballast SELECT repeat(i::text, 500) FROM generate_series(1, 1000) AS i")
            except RuntimeError:
                # The disk is full, and may have ended the server.
                return

    def free_disk(self):
        """Restores the size of the disk, and starts the server if the full disk has ended it."""
        mount("-o", f"remount,size={DISK}", self.data(self.port))
        deadline = time.monotonic() + 120
        while True:
            if self.process.poll() is not None:
                self.start()
            try:
                # The server may answer before it notices that a full disk has ended one of its processes.
                self.run("DROP TABLE IF EXISTS public.ballast")
                return
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def migrate(self):
        """Changes the schema as a daemon of the next release may. Returns the new version.

        A migration that holds some locks while it waits for others could cause a deadlock, so it begins again until it
        gets all locks at once.
        """
        deadline = time.monotonic() + 120
        while True:
            try:
                return self.number(MIGRATION)
            except RuntimeError as error:
                if "could not obtain lock" not in str(error) or time.monotonic() > deadline:
                    raise
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def set_password(self, password):
        self.run(f"ALTER ROLE {ROLE} PASSWORD '{password}'")

    def terminate_backends(self, address=None):
        """Ends the connections of the daemon at this address, or of all daemons. Returns how many."""
        here = f"AND client_addr = '{address}'" if address else ""
        return self.number(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            f"WHERE usename = '{ROLE}' AND pid <> pg_backend_pid() {here}")
