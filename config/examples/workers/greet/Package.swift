// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "greet",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In a package of your own, give the address of the repository instead, and the version that the daemon has:
        // .package(url: "https://example.org/halyard.git", from: "0.1.0")
        .package(name: "halyard", path: "../../../..")
    ],
    targets: [
        .executableTarget(name: "greet", dependencies: [.product(name: "HalyardWorker", package: "halyard")])
    ])
