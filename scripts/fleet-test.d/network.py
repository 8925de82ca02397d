"""Network namespaces: one for the server with a bridge, and one for each daemon with a link to it."""
import os
import socket
import subprocess
import sys
import threading
import time

RELAY_PORT = 5433


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


class Network:
    """Interfaces live in their namespaces, so that deleting the namespaces removes everything."""

    def __init__(self, names):
        self.prefix = f"halyard-{os.getpid()}"
        self.server_namespace = f"{self.prefix}-db"
        self.names = names
        self.addresses = {name: f"10.99.7.{10 + index}" for index, name in enumerate(names)}
        self.server_address = "10.99.7.1"
        self.made = []

    def open(self):
        self.add(self.server_namespace)
        self.server("ip", "link", "add", "fleet", "type", "bridge")
        self.server("ip", "address", "add", f"{self.server_address}/24", "dev", "fleet")
        self.server("ip", "link", "set", "fleet", "up")
        for name in self.names:
            self.add(self.namespace(name))
            self.server(
                "ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "db", "netns", self.namespace(name))
            self.server("ip", "link", "set", f"to-{name}", "master", "fleet", "up")
            inside = ("ip", "-n", self.namespace(name))
            run(*inside, "address", "add", f"{self.addresses[name]}/24", "dev", "db")
            run(*inside, "link", "set", "db", "up")

    def namespace(self, name):
        return f"{self.prefix}-{name}"

    def add(self, namespace):
        run("ip", "netns", "add", namespace)
        self.made.append(namespace)
        run("ip", "-n", namespace, "link", "set", "lo", "up")

    def server(self, *command):
        run("ip", "netns", "exec", self.server_namespace, *command)

    def cut(self, name):
        """Packets vanish in both directions, and nobody receives an error."""
        self.server("ip", "link", "set", f"to-{name}", "down")

    def mend(self, name):
        self.server("ip", "link", "set", f"to-{name}", "up")

    def close(self):
        for namespace in self.made:
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)


# The server's message that a COMMIT is complete.
COMMITTED = b"C\0\0\0\x0bCOMMIT\0"


class Relay:
    """A relay in the server's namespace. It can delay each direction, since not every kernel has a delaying queue, and
    lose the answers to commits."""

    def __init__(self, network, server_port):
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", network.server_namespace, sys.executable, __file__, network.server_address,
             str(RELAY_PORT), str(server_port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.process.stdout.readline()

    def delay(self, seconds):
        self.set("delay", seconds)

    def lose_commits(self, is_on):
        """If on, the answer to a COMMIT is not passed on; its connection is closed instead."""
        self.set("lose_commits", int(is_on))

    def lost_commits(self):
        """The number of commits whose answer was lost so far."""
        self.set("count", 0)
        return int(self.process.stdout.readline())

    def set_server_port(self, port):
        """New connections go to this port."""
        self.set("port", port)

    def set(self, name, value):
        self.process.stdin.write(f"{name} {value}\n")
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.wait()


def serve(address, port, server_port):
    """Relays connections. Lines of the standard input change the settings, or ask for the number of lost commits."""
    settings = {"delay": 0.0, "port": server_port, "lose_commits": 0.0}
    lost = []

    def copy(source, target, is_answer):
        """Passes data on in order, each part after the delay that was set when it arrived."""
        parts = []
        changed = threading.Condition()

        def send():
            while True:
                with changed:
                    while not parts:
                        changed.wait()
                    at, data = parts.pop(0)
                time.sleep(max(0, at - time.monotonic()))
                try:
                    if not data:
                        target.shutdown(socket.SHUT_RDWR)
                        return
                    target.sendall(data)
                except OSError:
                    # The other side has closed the connection, so nobody needs the rest.
                    return

        threading.Thread(target=send, daemon=True).start()
        while True:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            if is_answer and settings["lose_commits"] and COMMITTED in data:
                lost.append(time.monotonic())
                data = b""
            with changed:
                parts.append((time.monotonic() + settings["delay"], data))
                changed.notify()
            if not data:
                return

    def accept(listener):
        while True:
            caller, _ = listener.accept()
            try:
                server = socket.create_connection((address, int(settings["port"])))
            except OSError:
                caller.close()
                continue
            for one in (caller, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=copy, args=(caller, server, False), daemon=True).start()
            threading.Thread(target=copy, args=(server, caller, True), daemon=True).start()

    listener = socket.create_server((address, port), backlog=64)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        name, value = line.split()
        if name == "count":
            print(len(lost), flush=True)
        else:
            settings[name] = float(value)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
