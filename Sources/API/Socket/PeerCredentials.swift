import Glibc
import NIOCore

/// The process at the other end of a connection, according to the kernel (`SO_PEERCRED`).
public struct PeerCredentials: Sendable, Hashable {
    // The layout of the kernel's `struct ucred`.
    /// The process ID.
    public let pid: Int32
    /// The user ID.
    public let uid: UInt32
    /// The group ID.
    public let gid: UInt32

    static func read(from channel: any Channel) -> EventLoopFuture<PeerCredentials> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return provider.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET), name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
    }
}
