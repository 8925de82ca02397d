import CLauncher
import Glibc

extension LaunchPlan {
    /// Starts the process and returns when it executes its program. Blocks the calling thread for as long as the kernel
    /// needs to open the file.
    ///
    /// - Returns: The process and a descriptor of it, which the caller closes. The caller also reaps the process.
    func start() throws(LaunchError) -> (pid: pid_t, pidfd: Int32) {
        try check()
        var passed = descriptors
        let missing = (0...2).filter { passed[$0] == nil }
        var null: Int32 = -1
        if !missing.isEmpty {
            null = open("/dev/null", O_RDWR | O_CLOEXEC)
            guard null >= 0 else { throw .failed(.passDescriptor(missing[0]), program: program, code: errno) }
            for number in missing { passed[number] = null }
        }
        defer { if null >= 0 { close(null) } }
        let result = try start(passing: passed)
        guard result.step == Int32(launcher_step_none) else {
            throw .failed(.init(result, folder: folder), program: program, code: result.error)
        }
        return (result.pid, result.pidfd)
    }

    var program: String {
        switch executable {
        case .path(let path): path
        case .descriptor(_, let name): name
        }
    }

    private func check() throws(LaunchError) {
        func isClean(_ text: String) -> Bool { !text.utf8.contains(0) }
        guard isClean(program) else { throw .invalid(.program) }
        guard arguments.allSatisfy(isClean) else { throw .invalid(.argument) }
        guard isClean(folder) else { throw .invalid(.folder) }
        guard descriptors.keys.allSatisfy({ (0...65_535).contains($0) }) else { throw .invalid(.descriptor) }
        let isValid = environment.allSatisfy { name, value in
            !name.isEmpty && !name.utf8.contains(UInt8(ascii: "=")) && isClean(name) && isClean(value)
        }
        guard isValid else { throw .invalid(.environment) }
    }

    private func start(passing passed: [Int32: Int32]) throws(LaunchError) -> launcher_result {
        let variables = environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        guard let arguments = StringVector([program] + arguments), let environment = StringVector(variables) else {
            throw .failed(.allocateMemory, program: program, code: ENOMEM)
        }
        let sorted = passed.sorted { $0.key < $1.key }.map { launcher_descriptor(target: $0.key, source: $0.value) }
        let limits = limits.values
        var result = launcher_result()
        program.withCString { path in
            folder.withCString { folder in
                "\(oomScoreAdjustment)".withCString { adjustment in
                    sorted.withUnsafeBufferPointer { descriptors in
                        limits.withUnsafeBufferPointer { limits in
                            var plan = launcher_plan()
                            switch executable {
                            case .path: plan.path = path
                            case .descriptor(let number, _): plan.executable = number
                            }
                            plan.arguments = arguments.address
                            plan.environment = environment.address
                            plan.folder = folder
                            plan.descriptors = descriptors.baseAddress
                            plan.descriptor_count = Int32(descriptors.count)
                            plan.limits = limits.baseAddress
                            plan.limit_count = Int32(limits.count)
                            plan.group = group?.members ?? -1
                            plan.mask = mask
                            plan.oom_adjustment = adjustment
                            plan.adopts_orphans = adoptsOrphans ? 1 : 0
                            plan.ends_with_thread = endsWithThread ? 1 : 0
                            launcher_start(&plan, &result)
                        }
                    }
                }
            }
        }
        return result
    }
}

extension ProcessLimits {
    fileprivate var values: [launcher_limit] {
        func limit(_ resource: __rlimit_resource, _ value: UInt64?, margin: UInt64 = 0) -> launcher_limit? {
            value.map {
                launcher_limit(
                    resource: Int32(resource.rawValue), soft: $0, hard: $0.addingReportingOverflow(margin).partialValue)
            }
        }
        let seconds = processorTime.map { time in
            UInt64(max(0, time.components.seconds)) + (time.components.attoseconds > 0 ? 1 : 0)
        }
        return [
            limit(RLIMIT_CORE, 0), limit(RLIMIT_AS, addressSpace), limit(RLIMIT_DATA, data),
            limit(RLIMIT_CPU, seconds, margin: 2),
            limit(RLIMIT_FSIZE, fileSize), limit(RLIMIT_NOFILE, descriptors), limit(__RLIMIT_NPROC, processes),
        ].compactMap(\.self)
    }
}
