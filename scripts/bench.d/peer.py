"""One process of a measured system: a worker, a producer, or a count of the jobs that are not final.

    peer.py SYSTEM URL prepare
    peer.py SYSTEM URL work STARTS            runs no-op jobs; appends "job nanoseconds" for each start to the file
    peer.py SYSTEM URL fill COUNT             enqueues jobs by the system's fastest method
    peer.py SYSTEM URL pace RATE SECONDS OUT  enqueues single jobs evenly; writes "job nanoseconds" for each call
    peer.py SYSTEM URL left                   prints the number of jobs that are not final

Times come from the machine's monotonic clock. A producer prints "begun" before its first job.
"""
import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass

CALLERS = 16
BATCH = 1000
AT_ONCE = 256
INPUT = {"pad": "i" * 200}


class Starts:
    """Appends the starts of jobs to a file, with one write for each turn of the event loop."""

    def __init__(self, path):
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lines = []

    def note(self, job):
        if not self.lines:
            asyncio.get_running_loop().call_soon(self.write)
        self.lines.append(f"{job} {time.monotonic_ns()}\n")

    def write(self):
        os.write(self.descriptor, "".join(self.lines).encode())
        self.lines = []


async def pace(enqueue, rate, seconds, out):
    """Calls `enqueue`, which returns the job's number, at this rate, from several callers."""
    count = int(rate * seconds)
    began = time.monotonic() + 0.2
    lines = []
    turns = iter(range(count))

    async def call():
        for turn in turns:
            await asyncio.sleep(max(0, began + turn / rate - time.monotonic()))
            moment = time.monotonic_ns()
            lines.append((await enqueue(), moment))

    print("begun", flush=True)
    await asyncio.gather(*[call() for _ in range(CALLERS)])
    with open(out, "w") as file:
        file.writelines(f"{job} {moment}\n" for job, moment in lines)


class PgQueuer:
    def __init__(self, url):
        self.url = url

    async def driver(self):
        import asyncpg
        from pgqueuer.db import AsyncpgPoolDriver
        return AsyncpgPoolDriver(await asyncpg.create_pool(self.url, min_size=2, max_size=CALLERS))

    async def prepare(self):
        from pgqueuer.queries import Queries
        await Queries(await self.driver()).install()

    async def work(self, starts):
        import asyncpg
        from pgqueuer import PgQueuer as Runner
        from pgqueuer.db import AsyncpgDriver
        runner = Runner(AsyncpgDriver(await asyncpg.connect(self.url)))

        @runner.entrypoint("noop")
        async def noop(job):
            starts.note(job.id)

        await runner.run(batch_size=100)

    async def fill(self, count):
        from pgqueuer.queries import Queries
        queries = Queries(await self.driver())
        payload = json.dumps(INPUT).encode()
        for first in range(0, count, BATCH):
            size = min(BATCH, count - first)
            await queries.enqueue(["noop"] * size, [payload] * size, [0] * size)

    async def pace(self, *arguments):
        from pgqueuer.queries import Queries
        queries = Queries(await self.driver())
        payload = json.dumps(INPUT).encode()

        async def enqueue():
            return (await queries.enqueue("noop", payload))[0]

        await pace(enqueue, *arguments)

    left_query = "SELECT count(*) FROM pgqueuer"


class Procrastinate:
    left_query = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"

    def __init__(self, url):
        self.url = url
        self.starts = None

    def app(self):
        from procrastinate import App, PsycopgConnector
        app = App(connector=PsycopgConnector(conninfo=self.url, min_size=2, max_size=CALLERS))

        @app.task(name="noop", pass_context=True)
        async def noop(context, pad):
            self.starts.note(context.job.id)

        self.task = noop
        return app

    async def prepare(self):
        app = self.app()
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    async def work(self, starts):
        self.starts = starts
        app = self.app()
        async with app.open_async():
            await app.run_worker_async(concurrency=AT_ONCE)

    async def fill(self, count):
        app = self.app()
        async with app.open_async():
            for first in range(0, count, BATCH):
                await self.task.batch_defer_async(*[INPUT] * min(BATCH, count - first))

    async def pace(self, *arguments):
        app = self.app()
        async with app.open_async():
            await pace(lambda: self.task.defer_async(**INPUT), *arguments)


@dataclass
class NoOp:
    pad: str


class Awa:
    # Awa updates its statistics minutes later, and a query of its view of all jobs takes minutes, so a job counts as
    # final once it has started.
    left_query = "SELECT 0"

    def __init__(self, url):
        self.url = url

    def client(self):
        from awa import AsyncClient
        # Awa requires a host in the URL, although an option of the URL names the socket.
        return AsyncClient(self.url.replace("@/", "@localhost/"))

    async def prepare(self):
        await self.client().migrate()

    async def work(self, starts):
        client = self.client()

        @client.task(NoOp, queue="noop")
        async def noop(job):
            starts.note(job.id)

        await client.start([("noop", AT_ONCE)])
        await asyncio.Event().wait()

    async def fill(self, count):
        client = self.client()
        for first in range(0, count, BATCH):
            await client.enqueue_many_copy([NoOp(**INPUT)] * min(BATCH, count - first), queue="noop")

    async def pace(self, *arguments):
        client = self.client()

        async def enqueue():
            return (await client.insert(NoOp(**INPUT), queue="noop")).id

        await pace(enqueue, *arguments)


class Halyard:
    """Callers of the daemons. The URL is a list of the paths of their sockets, separated by commas."""

    def __init__(self, url):
        self.sockets = url.split(",")

    async def pace(self, rate, seconds, out):
        body = json.dumps({"definition": "noop", "input": INPUT})
        idle = []
        for number in range(CALLERS):
            idle.append(await asyncio.open_unix_connection(self.sockets[number % len(self.sockets)]))

        async def enqueue():
            connection = idle.pop()
            answer = await exchange(connection, "POST", "/v1/jobs", body)
            idle.append(connection)
            return answer["jobs"][0]

        waits = asyncio.create_task(self.wait_for_results(seconds, f"{out}.ends"))
        await pace(enqueue, rate, seconds, out)
        await waits

    async def wait_for_results(self, seconds, out):
        """During the load, enqueues one job at a time and measures how long the caller waits for its result."""
        body = json.dumps({"definition": "noop", "input": INPUT})
        times = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            connection = await asyncio.open_unix_connection(self.sockets[0])
            began = time.monotonic_ns()
            job = (await exchange(connection, "POST", "/v1/jobs", body))["jobs"][0]
            # The daemon closes the connection after a request that has waited.
            await exchange(connection, "GET", f"/v1/jobs/{job}/result?wait=30s")
            times.append(time.monotonic_ns() - began)
            connection[1].close()
            await asyncio.sleep(0.05)
        with open(out, "w") as file:
            file.writelines(f"{moment}\n" for moment in times)


async def exchange(connection, method, path, body=""):
    """Sends one request over a connection that stays open, and returns the decoded response."""
    reader, writer = connection
    head = f"{method} {path} HTTP/1.1\r\nHost: halyard\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}\r\n{body}".encode())
    fields = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    status = int(fields.split(" ", 2)[1])
    length = next(int(line.split(":")[1]) for line in fields.split("\r\n") if line.startswith("content-length"))
    answer = await reader.readexactly(length)
    if status >= 300:
        raise RuntimeError(f"{method} {path}: {status} {answer.decode()}")
    return json.loads(answer)


async def count(url, query):
    import asyncpg
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def main():
    name, url, command, *arguments = sys.argv[1:]
    system = {"pgqueuer": PgQueuer, "procrastinate": Procrastinate, "awa": Awa, "halyard": Halyard}[name](url)
    if command == "prepare":
        await system.prepare()
    elif command == "work":
        await system.work(Starts(arguments[0]))
    elif command == "fill":
        print("begun", flush=True)
        await system.fill(int(arguments[0]))
    elif command == "pace":
        await system.pace(float(arguments[0]), float(arguments[1]), arguments[2])
    elif command == "left":
        print(await count(url, system.left_query))


asyncio.run(main())
