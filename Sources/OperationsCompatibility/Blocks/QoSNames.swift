#if !canImport(Darwin)
    import Dispatch

    // These names come from Darwin's headers.

    // swift-format-ignore: AlwaysUseLowerCamelCase
    public let QOS_CLASS_USER_INTERACTIVE = DispatchQoS.QoSClass.userInteractive.number
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public let QOS_CLASS_USER_INITIATED = DispatchQoS.QoSClass.userInitiated.number
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public let QOS_CLASS_DEFAULT = DispatchQoS.QoSClass.default.number
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public let QOS_CLASS_UTILITY = DispatchQoS.QoSClass.utility.number
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public let QOS_CLASS_BACKGROUND = DispatchQoS.QoSClass.background.number
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public let QOS_CLASS_UNSPECIFIED = DispatchQoS.QoSClass.unspecified.number

    extension DispatchQoS.QoSClass {
        /// Darwin's number of the class.
        public var rawValue: qos_class_t { number }
    }
#endif
