import CLauncher
import Glibc

/// The reason why a process did not start. Nothing remains of the attempt: no process, no zombie and no descriptor.
public enum LaunchError: Error, Sendable, Equatable {
    /// A part of the plan cannot be passed to a program.
    case invalid(Part)
    /// A step failed with this `errno`.
    case failed(Step, program: String, code: Int32)

    public enum Part: String, Sendable {
        case program
        case argument
        case environment
        case folder
        case descriptor
    }

    public enum Step: Sendable, Equatable {
        /// The thread that watches all processes could not be started.
        case watch
        case allocateMemory
        case createProcess
        case createSession
        case joinGroup
        case enterFolder(String)
        /// The descriptor is the one that the new process was to get, or nil if it is not known.
        case passDescriptor(Int32?)
        /// The resource is one of `RLIMIT_…`.
        case setLimit(resource: Int32)
        case dropPrivileges
        case execute
    }
}

extension LaunchError.Step {
    init(_ result: launcher_result, folder: String) {
        switch Int(result.step) {
        case launcher_step_memory: self = .allocateMemory
        case launcher_step_clone: self = .createProcess
        case launcher_step_session: self = .createSession
        case launcher_step_group: self = .joinGroup
        case launcher_step_folder: self = .enterFolder(folder)
        case launcher_step_descriptors: self = .passDescriptor(result.subject < 0 ? nil : result.subject)
        case launcher_step_limits: self = .setLimit(resource: result.subject)
        case launcher_step_privileges: self = .dropPrivileges
        default: self = .execute
        }
    }
}

extension LaunchError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalid(let part): part.problem
        case .failed(let step, let program, let code):
            "\(program) did not start: \(step.attempt): \(String(cString: strerror(code))). \(step.remedy(code))"
        }
    }
}

extension LaunchError.Part {
    fileprivate var problem: String {
        switch self {
        case .program: "The path of the program contains a NUL byte. Remove it."
        case .argument: "An argument of the program contains a NUL byte. Remove it."
        case .environment:
            "A variable for the program has an empty name, a name with \"=\", or a NUL byte. Correct the variable."
        case .folder: "The path of the working folder contains a NUL byte. Remove it."
        case .descriptor: "The program was to get a descriptor with an invalid number. Use a number from 0 to 65535."
        }
    }
}

extension LaunchError.Step {
    fileprivate var attempt: String {
        switch self {
        case .watch: "watching processes failed"
        case .allocateMemory: "allocating memory failed"
        case .createProcess: "creating a process failed"
        case .createSession: "creating a session failed"
        case .joinGroup: "joining its cgroup failed"
        case .enterFolder(let folder): "entering the working folder \(folder) failed"
        case .passDescriptor(let number?): "passing descriptor \(number) failed"
        case .passDescriptor(nil): "passing the descriptors failed"
        case .setLimit(let resource): "setting resource limit \(resource) failed"
        case .dropPrivileges: "giving up privileges failed"
        case .execute: "executing it failed"
        }
    }

    fileprivate func remedy(_ code: Int32) -> String {
        switch (self, code) {
        case (_, EMFILE), (_, ENFILE): "Raise the limit of open files (LimitNOFILE= of the unit, or ulimit -n)."
        case (_, ENOMEM): "Free memory, or raise the memory limit of the unit."
        case (.createProcess, EAGAIN): "Raise the limit of processes (TasksMax= of the unit, or ulimit -u)."
        case (.joinGroup, _): "Check that the unit has Delegate=yes."
        case (.enterFolder, _): "Check that the folder exists and that this user may enter it."
        case (.passDescriptor, _): "Check that the descriptor is open and below the limit of open files."
        case (.execute, ENOENT): "Check that the program and its interpreter are installed."
        case (.execute, EACCES), (.execute, EPERM):
            "Check that this user may execute the file (its mode, a mount with noexec, NoExecPaths= of the unit)."
        case (.execute, ENOEXEC): "Use a program for this processor, or a script that begins with \"#!\"."
        case (.execute, E2BIG): "Shorten the arguments and the environment."
        case (.execute, ETXTBSY): "Wait until nothing writes to the file any more."
        default: "Check the restrictions of the unit (SystemCallFilter=)."
        }
    }
}
