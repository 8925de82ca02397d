// swift-tools-version: 6.2

import PackageDescription

// The parsers of `Kinds` alone, for libFuzzer: what needs the network is left out. `scripts/fuzz` builds and runs it.

/// Both, here as well: of two on the command line the build passes them on in any order, and the compiler heeds the last.
let sanitizers = ["-sanitize=fuzzer,address"]

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .unsafeFlags(["-enable-testing"] + sanitizers),
]

let network = [
    "Configuration", "Outgoing", "Upload", "Kinds.docc", "Decoding/BodyReader.swift",
    "Documents/DocumentReader.swift", "Documents/DocumentSandbox.swift", "Documents/SandboxProcess.swift",
    "Failure/KindFailure+Web.swift", "Unfurl/CookieJar.swift", "Unfurl/Redirect.swift", "Unfurl/Wall.swift",
    "Unfurl/UnfurlChain.swift", "Unfurl/Unfurl.swift", "Unfurl/Unfurl+Input.swift",
    "Unfurl/Resolutions.swift", "Enrich/Enrich.swift", "Enrich/Enrich+Parts.swift", "Enrich/Enrich+Input.swift",
]

let package = Package(
    name: "fuzzing",
    platforms: [.macOS(.v15)],
    targets: [
        .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0"),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CCompression"),
        .systemLibrary(name: "CNettle", pkgConfig: "nettle"),
        .target(name: "OperationTypes", swiftSettings: settings),
        .target(
            name: "Kinds", dependencies: ["OperationTypes", "CLibXML2", "CCompression", "CLinux", "CNettle"],
            exclude: network.map { "Shared/" + $0 }, swiftSettings: settings),
        // libFuzzer brings the `main`.
        .executableTarget(
            name: "Fuzz", dependencies: ["Kinds"],
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(sanitizers)]),
    ]
)
