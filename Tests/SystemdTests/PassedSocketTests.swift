import Glibc
import Testing

@testable import Systemd

@Suite struct PassedSocketTests {
    @Test func aListeningUnixStreamSocketIsTaken() throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        #expect(throws: PassedSocketError.wrongKind(name: "control", descriptor: descriptor)) {
            try PassedSocket.check(descriptor, name: "control")
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Binding only the family makes the kernel choose an abstract name.
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sa_family_t>.size))
            }
        }
        #expect(bound == 0)
        #expect(listen(descriptor, 1) == 0)
        try PassedSocket.check(descriptor, name: "control")
    }

    @Test func anotherKindOfDescriptorIsRefused() throws {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let error = #expect(throws: PassedSocketError.self) { try PassedSocket.check(descriptor, name: "control") }
        #expect(error?.description.contains("ListenStream=") == true)
    }

    @Test func socketsMeantForAnotherProcessAreLeftAlone() async {
        await #expect(processExitsWith: .success) {
            setenv("LISTEN_FDS", "1", 1)
            setenv("LISTEN_PID", String(getpid() + 1), 1)
            let taken = try PassedSocket.takeAll()
            exit(taken.isEmpty && getenv("LISTEN_FDS") == nil ? 0 : 1)
        }
    }
}
