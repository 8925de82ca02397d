// The sanitized package does not need to compile programs.
#if !SANITIZED
    import Foundation
    import Testing

    /// Client programs compiled against the module under test. The Swift 6 language mode refuses programs with data
    /// races; the legal programs compile in both modes.
    @Suite struct SendableBoundaryTests {
        @Test func racingClosuresAreErrors() throws {
            let errors = try compile(Self.declarations + Self.racing, mode: 6, "-typecheck")
            #expect(errors == lines(of: Self.declarations + Self.racing, marked: "// race"))
        }

        /// `forEach` takes its closures as `sending`, which the compiler checks after the types.
        @Test func racingRowsAreErrors() throws {
            let errors = try compile(Self.declarations + Self.racingRows, mode: 6, "-emit-sil")
            #expect(errors == lines(of: Self.declarations + Self.racingRows, marked: "// race"))
        }

        @Test func legalUsesCompile() throws {
            #expect(try compile(Self.declarations + Self.legal, mode: 6, "-emit-sil") == [])
        }

        @Test func codeOfTheSwift5LanguageModeCompiles() throws {
            let all = Self.declarations + Self.racing + Self.racingRows + Self.legal
            let plain = all.replacingOccurrences(of: "@MainActor final", with: "final")
            #expect(try compile(plain, mode: 5, "-emit-sil") == [])
        }

        private static let declarations = """
            import Dispatch
            import Operations
            class Box { var n = 0 }
            enum Trouble: Error { case some }
            let pending = Promise<Int, Trouble>().future
            let queue = DispatchQueue(label: "client")

            """

        private static let racing = """
            func captures() {
                let box = Box()
                var count = 0
                _ = Future(value: 1).observe(on: .global()).map { box.n += $0 } // race
                pending.on { box.n += $0 } // race
                pending.on(success: { _ in }, failure: { _ in box.n = 0 }) // race
                pending.on(completion: { box.n = 0 }) // race
                _ = pending.mapError { _ in box.n = 0; return Trouble.some } // race
                _ = pending.flatMap { Future<Int, Trouble>(value: $0 + box.n) } // race
                _ = pending.flatMapError { _ in Future<Int, Trouble>(value: box.n) } // race
                _ = Future<Int, any Error>(value: 1).tryMap { $0 + box.n } // race
                _ = pending.observe(on: { work in box.n += 1; work() }) // race
                _ = Future.reduce(0, [pending]) { $0 + $1 + box.n } // race
                _ = Future<Int, Trouble>.retry(.standard) { count += 1; return pending } // race
                Scheduler.default = { work in count += 1; work() } // race
                CancellationTokenSource().token.register { count += 1 } // race
                CancellationTokenSource().token.register { box.n += 1 } // race
            }
            @MainActor final class Model {
                var title = 0
                func load() {
                    pending.on { self.title = $0 } // race
                    pending.on(completion: stop) // race
                    _ = pending.map { self.title = $0 } // race
                    CancellationTokenSource().token.register { self.title = 0 } // race
                }
                func stop() {}
            }
            func values(_ box: Box) {
                _ = Future<Box, Trouble>(value: box) // race
                _ = pending.map { _ in Box() } // race
                _ = Promise<Box, Trouble>() // race
            }

            """

        private static let racingRows = """
            func rows() {
                var count = 0
                Future.forEach([{ pending }, { count += 1; return pending }]) { _ in } // race
                print(count)
            }

            """

        private static let legal = """
            final class Counter: @unchecked Sendable { func add(_ number: Int) {} }
            func legal(counter: Counter) async throws {
                let offset = 3
                pending.observe(on: queue).map { $0 + offset }.on { counter.add($0) }
                pending.on(success: { counter.add($0) }, failure: { _ in }, completion: { counter.add(0) })
                Future.forEach([{ pending }, { Future<Int, Trouble>(value: offset) }]) { _ in counter.add(1) }
                Future.zip(pending, pending).on { counter.add($0 + $1) }
                Future.reduce(0, [pending, pending], +).on { counter.add($0) }
                _ = Future<Int, Trouble>.retry(.standard) { pending }
                CancellationTokenSource().token.register { counter.add(1) }
                _ = pending.observe(on: Scheduler.immediate).flatMapError { _ in Future<Int, Never>(value: 1) }
                let _: Int? = try await pending.get()
            }
            @MainActor final class Screen {
                var title = 0
                func load() {
                    pending.onMainActor(success: { self.title = $0 }, completion: { self.title += 1 })
                    pending.on { number in Task { @MainActor in self.title = number } }
                }
            }

            """

        private func lines(of program: String, marked mark: String) -> [Int] {
            program.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                .filter { $0.element.hasSuffix(mark) }.map { $0.offset + 1 }
        }

        /// - Returns: The line numbers of the errors.
        private func compile(_ program: String, mode: Int, _ action: String) throws -> [Int] {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("boundary-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            // A leftover temporary directory is harmless.
            defer { try? FileManager.default.removeItem(at: folder) }
            let source = folder.appendingPathComponent("Client.swift")
            try program.write(to: source, atomically: true, encoding: .utf8)
            let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            let compiler = Process()
            compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            compiler.arguments = [
                "swiftc", action, "-swift-version", "\(mode)", "-parse-as-library", "-suppress-warnings",
                "-diagnostic-style", "llvm", "-I", products.appendingPathComponent("Modules").path,
                "-o", action == "-typecheck" ? "" : folder.appendingPathComponent("output").path, source.path,
            ].filter { !$0.isEmpty && !(action == "-typecheck" && $0 == "-o") }
            let output = Pipe()
            compiler.standardError = output
            try compiler.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            compiler.waitUntilExit()
            let errors = text.split(separator: "\n").filter { $0.contains(": error: ") }
            let numbers = errors.compactMap { error in
                error.hasPrefix(source.path) ? Int(error.dropFirst(source.path.count + 1).prefix { $0 != ":" }) : nil
            }
            if compiler.terminationStatus != 0 { try #require(!numbers.isEmpty, "\(text)") }
            return Set(numbers).sorted()
        }
    }
#endif
