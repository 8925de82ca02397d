import Foundation
import Programs

/// Runs `systemd-analyze calendar` with many expressions at once.
enum Analyze {
    static let path = "/usr/bin/systemd-analyze"
    static var isHere: Bool { FileManager.default.isExecutableFile(atPath: path) }

    struct Answer: Equatable {
        var normalized: String
        /// Seconds since 1970, at most as many as requested.
        var times: [Int]
    }

    struct Failure: Error { let output: String }

    /// - Returns: One entry for each expression; nil if it was refused.
    static func answers(
        _ expressions: [String], zone: String, base: Int, iterations: Int
    ) async throws -> [Answer?] {
        let output = try await ChildProcess.run(
            path, ["calendar", "--iterations=\(iterations)", "--base-time=@\(base)", "--"] + expressions,
            environment: ["TZ": zone, "LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""]
        ).output
        var answers: [Answer?] = []
        for block in output.components(separatedBy: "\n\n") where block.contains("Normalized form:") {
            guard let (original, answer) = read(block) else { throw Failure(output: block) }
            // The output omits refused expressions.
            while answers.count < expressions.count,
                expressions[answers.count].trimmingCharacters(in: .whitespaces) != original
            {
                answers.append(nil)
            }
            if answers.count == expressions.count { throw Failure(output: block) }
            answers.append(answer)
        }
        return answers + Array(repeating: nil, count: expressions.count - answers.count)
    }

    private static func read(_ block: String) -> (original: String, Answer)? {
        var original: String?
        var normalized: String?
        var times: [Int] = []
        for line in block.split(separator: "\n") {
            guard let colon = line.firstRange(of: ": ") else { continue }
            let key = line[..<colon.lowerBound].trimmingCharacters(in: .whitespaces)
            let value = line[colon.upperBound...].trimmingCharacters(in: .whitespaces)
            switch key {
            case "Original form": original = value
            case "Normalized form": normalized = value
            case "From now": break
            default:
                if value == "never" { break }
                // The UTC line replaces the local time before it.
                if key == "(in UTC)" { times.removeLast() }
                guard let time = seconds(value) else { return nil }
                times.append(time)
            }
        }
        guard let normalized else { return nil }
        return (original ?? normalized, Answer(normalized: normalized, times: times))
    }

    /// Parses `Mon 2026-10-26 00:00:00 UTC`. The value for a local time is meaningless; the next line replaces it.
    private static func seconds(_ text: String) -> Int? {
        let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
        guard numbers.count >= 6 else { return nil }
        var parts = tm()
        parts.tm_year = Int32(numbers[0] - 1900)
        parts.tm_mon = Int32(numbers[1] - 1)
        parts.tm_mday = Int32(numbers[2])
        parts.tm_hour = Int32(numbers[3])
        parts.tm_min = Int32(numbers[4])
        parts.tm_sec = Int32(numbers[5])
        return timegm(&parts)
    }
}
