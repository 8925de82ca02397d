import Jobs
import Workers

/// Which worker program runs which kind.
struct KindAssignment {
    /// A worker program, in the order in which kinds are assigned.
    struct Program {
        var name: String
        var host: any KindHost
        /// The kinds that the program announced; nil if it does not run.
        var kinds: [KindDescription]?
    }

    let registry: KindRegistry
    /// Why a program may not run its kinds, by its name: a clause that follows the name.
    let clashes: [String: String]

    /// Assigns each kind to the first program that announces it. A program that announces a kind of an earlier program runs
    /// no kinds at all, since the administrator must decide which of the two is meant.
    ///
    /// - Parameters:
    ///   - own: The kinds that no worker program runs.
    ///   - programs: The programs. The first is the built-in one.
    ///   - known: The kinds that this daemon registered at an earlier start.
    ///   - absent: Returns the stand-in for the programs that do not run and could have a kind.
    /// - Throws: ``KindRegistryProblem`` if the kinds of this process and of the built-in program cannot be registered.
    init(
        own: [RunnableKind], programs: [Program], known: [KindDescription], absent: (_ kind: String) -> any KindHost
    ) throws(KindRegistryProblem) {
        var kinds = own
        var owners = Dictionary(kinds.map { ($0.description.name, "halyardd itself") }) { first, _ in first }
        var clashes: [String: String] = [:]
        var isComplete = true
        for (index, program) in programs.enumerated() {
            guard let announced = program.kinds else {
                isComplete = false
                continue
            }
            let hosted = announced.map { RunnableKind($0, hostedBy: program.host) }
            if index > 0, let clash = Self.clash(of: hosted, with: owners) {
                clashes[program.name] = clash
                isComplete = false
                continue
            }
            kinds += hosted
            for kind in announced { owners[kind.name] = "worker \(program.name)" }
        }
        if !isComplete {
            kinds += known.filter { owners[$0.name] == nil }.map { RunnableKind($0, hostedBy: absent($0.name)) }
        }
        registry = try KindRegistry(runnable: kinds)
        self.clashes = clashes
    }

    private static func clash(of kinds: [RunnableKind], with owners: [String: String]) -> String? {
        for kind in kinds {
            let name = kind.description.name
            if let owner = owners[name] {
                return "announces the kind \"\(name)\", which \(owner) runs; rename it in one of the two programs"
            }
        }
        do throws(KindRegistryProblem) {
            _ = try KindRegistry(runnable: kinds)
            return nil
        } catch {
            return "announces kinds that cannot be used: \(error)"
        }
    }
}
