// swift-tools-version: 6.2

import PackageDescription

// The in-process operations alone, so that the thread sanitizer builds them and nothing they do not need; `scripts/test`
// does that.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .define("SANITIZED"),
]

let package = Package(
    name: "sanitized-operations",
    platforms: [.macOS(.v15)],
    targets: [
        .target(name: "OperationTypes", swiftSettings: settings),
        .target(name: "Operations", dependencies: ["OperationTypes"], swiftSettings: settings),
        .target(
            name: "OperationsCompatibility", dependencies: ["OperationTypes", "Operations"], swiftSettings: settings),
        .target(name: "Signals", swiftSettings: settings),
        .testTarget(name: "OperationTypesTests", dependencies: ["OperationTypes", "Signals"], swiftSettings: settings),
        .testTarget(
            name: "OperationsTests", dependencies: ["OperationTypes", "Operations", "Signals"], swiftSettings: settings),
        .testTarget(
            name: "OperationsCompatibilityTests", dependencies: ["Operations", "OperationsCompatibility", "Signals"],
            swiftSettings: settings),
    ]
)
