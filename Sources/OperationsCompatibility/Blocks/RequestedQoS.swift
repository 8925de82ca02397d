import Dispatch
import OperationTypes
import Operations

#if !canImport(Darwin)
    import CDispatch

    /// A quality of service, numbered as on Darwin.
    // swift-format-ignore: TypeNamesShouldBeCapitalized
    public struct qos_class_t: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
    }

    /// The quality of service of the main queue.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public func qos_class_main() -> qos_class_t { qos_class_t(rawValue: 0x31) }

    /// The quality of service of the current block:
    ///
    /// - the one that ``Async``, ``Apply`` or ``AsyncGroup`` requested for it;
    /// - otherwise, on the main thread, that of the main queue;
    /// - otherwise, in a block of a global queue, that of the queue;
    /// - otherwise unspecified.
    ///
    /// Linux itself has no such classes, and no global queue for `userInteractive`: a block that was sent to that queue
    /// directly sees `userInitiated`.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public func qos_class_self() -> qos_class_t {
        if let requested = RequestedQoS.current { return requested }
        if MainThread.isCurrent { return qos_class_main() }
        return (DispatchQoS.QoSClass.ofGlobalQueue ?? .unspecified).number
    }

    extension DispatchQoS.QoSClass {
        /// The quality of service of the global queue that this thread serves, determined from the queue's label. Nil
        /// on other threads.
        fileprivate static var ofGlobalQueue: DispatchQoS.QoSClass? {
            switch String(cString: dispatch_queue_get_label(nil)) {
            case "com.apple.root.user-interactive-qos": .userInteractive
            case "com.apple.root.user-initiated-qos": .userInitiated
            case "com.apple.root.default-qos": .default
            case "com.apple.root.utility-qos": .utility
            case "com.apple.root.background-qos": .background
            default: nil
            }
        }
    }
#endif

extension qos_class_t {
    public var description: String {
        if self == qos_class_main() { return "Main" }
        return DispatchQoS.QoSClass.numbered.first { $0.number == self }?.description ?? "Unknown"
    }
}

extension DispatchQoS.QoSClass {
    public var description: String {
        switch self {
        case .userInteractive: "User Interactive"
        case .userInitiated: "User Initiated"
        case .default: "Default"
        case .utility: "Utility"
        case .background: "Background"
        case .unspecified: "Unspecified"
        @unknown default: "Unknown"
        }
    }

    static let numbered: [DispatchQoS.QoSClass] = [
        .userInteractive, .userInitiated, .default, .utility, .background, .unspecified,
    ]

    /// Darwin's number of the class.
    var number: qos_class_t {
        switch self {
        case .userInteractive: qos_class_t(rawValue: 0x21)
        case .userInitiated: qos_class_t(rawValue: 0x19)
        case .default: qos_class_t(rawValue: 0x15)
        case .utility: qos_class_t(rawValue: 0x11)
        case .background: qos_class_t(rawValue: 0x09)
        default: qos_class_t(rawValue: 0)
        }
    }
}

/// The quality of service that was requested for the block on this thread.
@usableFromInline
enum RequestedQoS {
    /// The number of a class, or the queue to which the block was sent. The class of a queue is read only when it is
    /// needed.
    private static let request = ThreadPointer()

    /// Lower values are numbers of classes. Higher values are addresses of queues.
    private static let lowestAddress: UInt = 4096

    static var current: qos_class_t? {
        guard let value = request.value else { return nil }
        let bits = UInt(bitPattern: value)
        guard bits >= lowestAddress else { return qos_class_t(rawValue: UInt32(bits)) }
        // SAFETY: The link that runs on this thread holds the queue.
        return Unmanaged<DispatchQueue>.fromOpaque(value).takeUnretainedValue().requestedQoS
    }

    static func with<Value>(_ qos: qos_class_t?, _ body: () -> Value) -> Value {
        let outer = enter(qos.flatMap { UnsafeMutableRawPointer(bitPattern: UInt($0.rawValue)) })
        defer { leave(to: outer) }
        return body()
    }

    /// Sets the quality of service of this thread for a block.
    ///
    /// - Parameter target: The queue of the block. The caller must retain it until ``leave(to:)``.
    /// - Returns: The previous value, for ``leave(to:)``.
    @usableFromInline
    static func enter(_ target: TargetQueue) -> UnsafeMutableRawPointer? {
        if case .custom(let queue) = target { return enter(Unmanaged.passUnretained(queue).toOpaque()) }
        return enter(target.qos.flatMap { UnsafeMutableRawPointer(bitPattern: UInt($0.rawValue)) })
    }

    private static func enter(_ value: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let outer = request.value
        request.value = value
        return outer
    }

    @usableFromInline
    static func leave(to outer: UnsafeMutableRawPointer?) { request.value = outer }
}
