// swift-tools-version: 6.2

import PackageDescription

// The parsers alone, for libFuzzer: what needs the network is left out. `scripts/fuzz` builds and runs it.

/// Both, here as well: of two on the command line the build passes them on in any order, and the compiler heeds the last.
let sanitizers = ["-sanitize=fuzzer,address"]

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .unsafeFlags(["-enable-testing"] + sanitizers),
]

let package = Package(
    name: "fuzzing",
    platforms: [.macOS(.v15)],
    targets: [
        .systemLibrary(name: "CCompression"),
        .target(name: "CivilCalendar", swiftSettings: settings),
        .target(name: "WebSyntax", dependencies: ["CivilCalendar"], swiftSettings: settings),
        .target(name: "Decompression", dependencies: ["CCompression"], swiftSettings: settings),
        .target(name: "Pages", dependencies: ["CivilCalendar", "Decompression", "WebSyntax"], swiftSettings: settings),
        .target(
            name: "Web", dependencies: ["WebSyntax"], sources: ["Redirects/Refresh.swift"], swiftSettings: settings),
        .target(
            name: "Kinds", dependencies: ["Pages", "WebSyntax"],
            sources: [
                "Unfurl/TrackingList.swift", "Unfurl/TrackingRules.swift", "Unfurl/Wrapper.swift",
                "Unfurl/WrapperRule.swift",
            ], swiftSettings: settings),
        // libFuzzer brings the `main`.
        .executableTarget(
            name: "Fuzz", dependencies: ["Kinds", "Pages", "Web", "WebSyntax"],
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(sanitizers)]),
    ]
)
