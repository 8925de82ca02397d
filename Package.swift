// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// A library target and its tests. A target exists to keep an import out: the list of dependencies is the architecture.
func module(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests",
        dependencies: [.target(name: name)] + dependencies,
        exclude: exclude,
        swiftSettings: settings)
}

/// A release starts faster and uses less memory without exported symbols (`export-dynamic` is the toolchain's default for a
/// static Swift runtime) and with packed relocations.
let releaseLinking = [
    "-use-ld=lld", "-Xlinker", "--no-export-dynamic", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
    "-Xlinker", "--icf=safe", "-Xlinker", "-z", "-Xlinker", "now",
]
/// Links the C++ runtime statically: loading its shared library takes an eighth of the start-up time.
let staticCPlusPlus = ["-Xlinker", "-l:libstdc++.a", "-Xlinker", "--remap-inputs=*/libstdc++.so=/dev/null"]
/// Links the unwinder statically: loading its shared library takes a twelfth of the start-up time.
let staticUnwinder = ["-Xclang-linker", "-static-libgcc"]

func nio(_ product: String) -> Target.Dependency { .product(name: product, package: "swift-nio") }

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

func executable(_ name: String, _ dependencies: [Target.Dependency], linking: [String] = []) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, swiftSettings: settings,
        linkerSettings: [
            .unsafeFlags(releaseLinking + linking, .when(platforms: [.linux], configuration: .release))
        ])
}

let package = Package(
    name: "halyard",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "halyardd", targets: ["halyardd"]),
        .executable(name: "halyard-worker", targets: ["halyard-worker"]),
        .executable(name: "halyard", targets: ["halyard"]),
        .executable(name: "halyard-bench", targets: ["Bench"]),
        .library(name: "HalyardClient", targets: ["HalyardClient"]),
        .library(name: "HalyardWorker", targets: ["HalyardWorker"]),
        .library(name: "Operations", targets: ["OperationTypes", "Operations", "NetworkAdapters"]),
        .library(name: "OperationsCompatibility", targets: ["OperationsCompatibility"]),
        .library(name: "NetworkOperations", targets: ["NetworkOperations"]),
        .library(
            name: "Halyard",
            targets: [
                "OperationTypes", "Jobs", "JobFiles", "JobStoreContract", "SQLiteStore", "Definitions", "Runner",
                "WebSyntax", "Web", "Pages", "Kinds", "ControlProtocol", "StoreControl",
                "Client", "Daemon",
            ]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.34.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        // In-process operations: values and closures, no I/O.
        module("OperationTypes"),
        module("Operations", ["OperationTypes"]),
        module(
            "NetworkAdapters",
            ["OperationTypes", "Operations", .product(name: "OpenCombine", package: "OpenCombine")]),
        // Operations that run kinds, which bring an HTTP client, TLS and C libraries.
        module("NetworkOperations", ["Kinds", "Operations", "Pages", "Web"]),
        // The names of the published libraries, for code that was written for them.
        module("OperationsCompatibility", ["NetworkAdapters", "OperationTypes", "Operations"]),
        tests("OperationTypes", ["Signals"]),
        tests("Operations", ["Signals"]),
        tests("OperationsCompatibility", ["Signals"]),
        .target(name: "Signals", path: "Tests/Signals", swiftSettings: settings),
        // Code in the style of the published libraries, as it was compiled with them.
        .testTarget(
            name: "PublishedStyleTests", dependencies: ["OperationsCompatibility"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        tests(
            "NetworkAdapters",
            [
                "Kinds", "NetworkOperations", "Operations", "OperationsCompatibility", "Signals", "Web",
                nio("NIOCore"), nio("NIOHTTP1"), nio("NIOPosix"),
                .product(name: "OpenCombine", package: "OpenCombine"),
            ]),

        // Dates of the Gregorian calendar: arithmetic only, so that documents and schedules share it.
        module("CivilCalendar"),
        // Calendar expressions and time zones.
        module("CalendarEvents", ["CivilCalendar"]),
        // Programs that tests run.
        .target(name: "Programs", dependencies: ["CLinux"], path: "Tests/Programs", swiftSettings: settings),
        tests("CalendarEvents", ["Programs"]),

        // The durable model.
        module("Jobs", ["CalendarEvents", "CivilCalendar", "OperationTypes"]),
        tests("Jobs", ["OperationTypes", "Programs"]),
        // The files of jobs: logs and results. Knows nothing of processes.
        module("JobFiles", ["CLinux", "CNettle", "Jobs"]),
        tests("JobFiles", ["Jobs"]),
        module("JobStoreContract", ["CalendarEvents", "Jobs", "OperationTypes"]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        module("YAML", ["CYAML"]),
        tests("YAML"),
        module("Definitions", ["Jobs", "YAML"]),
        tests("Definitions", ["CalendarEvents", "Jobs", "Kinds", "OperationTypes"]),

        // SQLite.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        module("SQLite", ["CSQLite"]),
        // Tests use it to read facts about prepared statements.
        .target(
            name: "SQLiteInspection", dependencies: ["CSQLite", "SQLite"], path: "Tests/SQLiteInspection",
            swiftSettings: settings),
        tests("SQLite", ["SQLiteInspection"]),
        .systemLibrary(name: "CFiles"),
        .target(name: "CCrashMark"),
        // The parts of a store that do not depend on its database.
        module("StoreParts", ["Jobs"]),
        // The form in which jobs are moved from one store to another.
        module("Moving", ["CNettle", "Jobs"]),
        module("SQLiteStore", ["CCrashMark", "CFiles", "Jobs", "Moving", "OperationTypes", "SQLite", "StoreParts"]),
        // A program that tests run on a failing disk.
        .executableTarget(
            name: "PowerCutWriter", dependencies: ["Jobs", "SQLite", "SQLiteStore"], path: "Tests/PowerCutWriter",
            swiftSettings: settings),
        tests(
            "SQLiteStore",
            [
                "CalendarEvents", "JobStoreContract", "Jobs", "Moving", "OperationTypes", "PowerCutWriter", "Programs",
                "SQLite", "SQLiteInspection", "StoreParts",
            ],
            exclude: ["Golden"]),

        // PostgreSQL. The target loads libpq at run time, so that a machine without PostgreSQL does not need it.
        .target(name: "CPostgreSQL", linkerSettings: [.linkedLibrary("dl")]),
        module("PostgreSQL", ["CPostgreSQL"]),
        module("PostgresStore", ["Jobs", "Moving", "OperationTypes", "PostgreSQL", "StoreParts"]),
        // A server for tests.
        .target(
            name: "PostgresServer", dependencies: ["PostgreSQL"], path: "Tests/PostgresServer",
            swiftSettings: settings),
        tests("PostgreSQL", ["PostgresServer"]),
        tests(
            "PostgresStore",
            [
                "CalendarEvents", "ControlProtocol", "JobStoreContract", "Jobs", "Moving", "OperationTypes",
                "PostgreSQL", "PostgresServer", "SQLite", "SQLiteInspection", "SQLiteStore", "StoreControl",
            ]),

        // Running jobs.
        .systemLibrary(name: "CTimerFD"),
        module(
            "Runner",
            [
                "CalendarEvents", "Jobs", "OperationTypes", "CTimerFD",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                logging,
                .product(name: "Metrics", package: "swift-metrics"),
            ]),
        tests(
            "Runner",
            ["CTimerFD", "CalendarEvents", "SQLiteStore", "SQLite", "Jobs", "OperationTypes", "Samples", logging]),
        // The messages between the daemon and its workers.
        module("WorkerProtocol", ["Jobs", "OperationTypes"]),
        tests("WorkerProtocol", ["Jobs", "OperationTypes"]),
        // The daemon's side of its workers: their processes, and what runs in which.
        module(
            "Workers",
            ["CLinux", "Jobs", "OperationTypes", "Processes", "Runner", "WorkerProtocol", logging]),
        tests(
            "Workers",
            ["Jobs", "OperationTypes", "Programs", "SampleWorker", "Samples", "WorkerProtocol", logging]),
        // Starts, watches and kills processes. Knows nothing of jobs.
        .target(name: "CLauncher"),
        module("Processes", ["CLauncher"]),
        // A program without a shell that shows what a new process gets, and makes trouble.
        .executableTarget(name: "ProcessProbe", path: "Tests/ProcessProbe"),
        tests("Processes", ["CLauncher", "CLinux", "ProcessProbe", "Programs"]),
        // Runs the programs of definitions of the kind `program`.
        module(
            "ProgramKind",
            ["CLinux", "JobFiles", "Jobs", "OperationTypes", "Processes", logging]),
        tests(
            "ProgramKind",
            ["CLinux", "JobFiles", "Jobs", "OperationTypes", "Processes", "Programs", logging]),
        // The main program of a worker. It has no dependency outside of this package, so that programs with their own
        // kinds build quickly.
        module("Worker", ["Jobs", "OperationTypes", "WorkerProtocol"]),
        // The library for workers in Swift: one import.
        module("HalyardWorker", ["Jobs", "OperationTypes", "Worker"]),
        // A program that tests run as a worker.
        .executableTarget(
            name: "SampleWorker", dependencies: ["Jobs", "OperationTypes", "Worker", "WorkerProtocol"],
            path: "Tests/SampleWorker", swiftSettings: settings),
        // Workers that tests drive.
        .target(
            name: "RunningWorkers", dependencies: ["Jobs", "OperationTypes", "Programs", "WorkerProtocol"],
            path: "Tests/RunningWorkers", swiftSettings: settings),
        .testTarget(
            name: "WorkerTests",
            dependencies: ["Jobs", "OperationTypes", "Programs", "RunningWorkers", "SampleWorker", "WorkerProtocol"],
            swiftSettings: settings),
        // Checks that a program follows the protocol.
        module("WorkerConformance", ["CLinux", "Jobs", "OperationTypes", "WorkerProtocol"]),
        tests("WorkerConformance", ["Jobs", "Programs", "RunningWorkers", "SampleWorker", "WorkerProtocol"]),
        // The syntax of addresses, dates and text on the web, without I/O.
        module("WebSyntax", ["CivilCalendar"]),
        tests("WebSyntax", ["Samples"]),
        .systemLibrary(
            name: "CCompression",
            providers: [.apt(["zlib1g-dev", "libbrotli-dev", "libzstd-dev"])]),
        module("Decompression", ["CCompression"]),
        tests("Decompression", ["Samples"]),
        // The only target with an HTTP client, TLS and name lookups.
        .systemLibrary(name: "CCAres", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
        .systemLibrary(name: "CLinux"),
        module(
            "Web",
            [
                "CCAres", "CLinux", "CivilCalendar", "Decompression", "Jobs", "OperationTypes", "WebSyntax",
                nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                nio("NIOTLS"),
            ]),
        tests(
            "Web",
            [
                "Jobs", "OperationTypes", "Programs", "Samples", "Servers", "WebSyntax",
                nio("NIOHTTP1"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                nio("NIOPosix"), nio("NIOCore"),
            ]),
        // Parses documents from servers: bytes in, facts out. It runs in the sandbox, so it must not use a network.
        module("Pages", ["CivilCalendar", "Decompression", "WebSyntax"]),
        tests("Pages", ["Samples", "WebSyntax"]),
        // Reading the text of settings.
        module("Settings", ["Jobs"]),
        .systemLibrary(name: "CNettle", pkgConfig: "nettle", providers: [.apt(["nettle-dev"])]),
        module(
            "Kinds",
            [
                "CLinux", "CNettle", "Jobs", "OperationTypes", "Pages", "Settings", "Web", "WebSyntax",
                .product(name: "Crypto", package: "swift-crypto"),
                nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"),
            ]),
        // Servers on loopback, and documents, for the tests of these targets.
        .target(
            name: "Samples", dependencies: ["OperationTypes"], path: "Tests/Samples", exclude: ["Golden"],
            swiftSettings: settings),
        .target(
            name: "Servers",
            dependencies: [
                "OperationTypes", "Programs", "Samples", "Web", "WebSyntax",
                nio("NIOCore"), nio("NIOPosix"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], path: "Tests/Servers", swiftSettings: settings),
        tests(
            "Kinds",
            [
                "CLinux", "Jobs", "OperationTypes", "Pages", "Programs", "Samples", "Servers", "Settings", "Web",
                "WebSyntax",
                .product(name: "Crypto", package: "swift-crypto"),
                nio("NIOHTTP1"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                nio("NIOPosix"), nio("NIOCore"),
            ]),

        // The worker of the built-in kinds.
        module(
            "BuiltInWorker",
            ["ControlProtocol", "Jobs", "Kinds", "Web", "Worker", "WorkerProtocol"]),
        .testTarget(
            name: "BuiltInWorkerTests",
            dependencies: [
                "Jobs", "OperationTypes", "Programs", "RunningWorkers", "Servers", "WorkerProtocol", "halyard-worker",
            ], swiftSettings: settings),
        executable("halyard-worker", ["BuiltInWorker"]),

        // The stores by the addresses of their databases: the only place that knows which there are.
        module("Stores", ["Jobs", "Moving", "PostgreSQL", "PostgresStore", "SQLite", "SQLiteStore", "StoreParts"]),
        tests("Stores", ["Jobs", "PostgreSQL", "PostgresServer", "PostgresStore", "SQLiteStore"]),

        // Control: the verbs, the socket that carries them, and the command line.
        module("ControlProtocol", ["Jobs", "OperationTypes"]),
        tests("ControlProtocol", ["CalendarEvents", "Jobs", "OperationTypes"]),
        // The verbs over a store: in the daemon, and in a command that holds the database's lock.
        module(
            "StoreControl",
            ["CalendarEvents", "ControlProtocol", "Definitions", "JobFiles", "Jobs", "OperationTypes"]),
        tests(
            "StoreControl",
            ["CalendarEvents", "ControlProtocol", "JobFiles", "Jobs", "OperationTypes", "Programs", "SQLiteStore"]),
        module(
            "API",
            [
                "CLinux", "ControlProtocol", "Jobs", "OperationTypes",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                logging,
                nio("NIOCore"), nio("NIOHTTP1"), nio("NIOPosix"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ], resources: [.embedInCode("openapi.json")]),
        tests(
            "API",
            [
                "Client", "ControlProtocol", "JobFiles", "Jobs", "OperationTypes", "Programs", "SQLiteStore",
                "StoreControl", logging,
                nio("NIOCore"), nio("NIOEmbedded"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        module(
            "Client",
            ["ControlProtocol", "Jobs", nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1")]),
        tests("Client", ["ControlProtocol", "Jobs"]),
        // The library for programs that enqueue jobs and read results: one import, and no code of a kind.
        module("HalyardClient", ["Client", "ControlProtocol", "Jobs", "OperationTypes"]),
        module(
            "Commands",
            [
                "CalendarEvents", "CivilCalendar", "Client", "ControlProtocol", "JobFiles", "Jobs", "OperationTypes",
                "StoreControl", "Stores", "WorkerConformance",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        tests(
            "Commands",
            [
                "API", "Client", "ControlProtocol", "JobFiles", "Jobs", "OperationTypes", "PostgresServer",
                "PostgresStore", "Programs", "SQLite", "SQLiteInspection", "SQLiteStore", "SampleWorker",
                "StoreControl", "Stores",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                logging,
            ], exclude: ["Golden"]),

        // The daemon.
        .systemLibrary(
            name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        module("Systemd", ["CSystemd", logging]),
        tests("Systemd", [logging]),
        module(
            "Daemon",
            [
                "API", "CCrashMark", "CLinux", "CalendarEvents", "ControlProtocol", "Definitions", "JobFiles", "Jobs",
                "OperationTypes", "Processes", "ProgramKind", "Runner", "Settings", "StoreControl", "Stores",
                "Systemd", "WorkerProtocol", "Workers", "YAML",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                logging,
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        tests(
            "Daemon",
            [
                "CLinux", "Client", "ControlProtocol", "HalyardClient", "JobFiles", "Jobs", "OperationTypes",
                "PostgreSQL", "PostgresServer", "Programs", "Runner", "SQLiteStore", "SampleWorker", "Settings",
                "Stores", "Systemd", "WorkerProtocol", "Workers", "halyard-worker", "halyardd", logging,
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        executable("halyardd", ["Daemon"], linking: staticCPlusPlus + staticUnwinder),
        executable("halyard", ["Client", "Commands"], linking: staticCPlusPlus + staticUnwinder),

        // Measuring.
        .target(name: "CBaseline", dependencies: ["CSQLite"]),
        .target(name: "CAllocationCount"),
        executable(
            "Bench",
            [
                "CAllocationCount", "CBaseline", "CLinux", "Client", "ControlProtocol", "Daemon", "Jobs", "Kinds",
                "Operations",
                "OperationsCompatibility", "OperationTypes", "Pages", "Programs", "Runner", "SQLite", "SQLiteStore",
                "Systemd", "Worker", "WorkerProtocol", logging,
            ]),
    ]
)
