import Jobs
import OperationTypes
import Testing

@testable import Daemon

/// Which worker runs which kind.
@Suite struct KindAssignmentTests {
    private let absent = AbsentWorkers { ["worker c is away"] }

    private func kinds(_ names: String...) -> [KindDescription] {
        names.map {
            KindDescription(
                name: $0, summary: "", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
        }
    }

    private func program(_ name: String, _ kinds: [KindDescription]?) -> KindAssignment.Program {
        .init(name: name, host: AbsentWorkers { [name] }, kinds: kinds)
    }

    private func assign(
        _ programs: KindAssignment.Program..., own: [any Kind] = [], known: [KindDescription] = []
    ) throws -> KindAssignment {
        try KindAssignment(own: own.map { RunnableKind($0) }, programs: programs, known: known) { _ in absent }
    }

    @Test func everyKindHasTheHostOfItsProgram() throws {
        let assignment = try assign(program("a", kinds("x")), program("b", kinds("y", "z")), own: [Greet()])
        #expect(assignment.clashes.isEmpty)
        #expect(assignment.registry["x"]?.host?.problem == "a")
        #expect(assignment.registry["z"]?.host?.problem == "b")
        #expect(assignment.registry["greet"]?.kind is Greet)
    }

    @Test func theSecondProgramOfAKindRunsNone() throws {
        let assignment = try assign(program("a", kinds("x")), program("b", kinds("y", "x")), program("c", kinds("z")))
        #expect(
            assignment.clashes == [
                "b": "announces the kind \"x\", which worker a runs; rename it in one of the two programs"
            ])
        #expect(assignment.registry["x"]?.host?.problem == "a")
        #expect(assignment.registry["y"] == nil)
        #expect(assignment.registry["z"]?.host?.problem == "c")
    }

    @Test func aKindOfThisProcessIsNotGivenAway() throws {
        let assignment = try assign(program("a", []), program("b", kinds("greet")), own: [Greet()])
        #expect(assignment.clashes["b"]?.contains("which halyardd itself runs") == true)
    }

    @Test(arguments: ["Not a name", ""])
    func aNameThatIsNotAllowedIsRefused(name: String) throws {
        let assignment = try assign(program("a", []), program("b", kinds(name)))
        #expect(assignment.clashes["b"]?.hasPrefix("announces kinds that cannot be used: ") == true)
        #expect(try assign(program("a", []), program("b", kinds("x", "x"))).clashes["b"]?.contains("two kinds") == true)
    }

    @Test func knownKindsWaitForThoseThatDoNotRun() throws {
        let known = kinds("x", "y", "old")
        let assignment = try assign(program("a", kinds("x")), program("b", nil), known: known)
        #expect(assignment.registry["x"]?.host?.problem == "a")
        for name in ["y", "old"] { #expect(assignment.registry[name]?.host === absent) }
        // A program that may not run its kinds does not run either.
        let clash = try assign(program("a", kinds("x")), program("b", kinds("x", "y")), known: known)
        #expect(clash.registry["y"]?.host === absent)
    }

    @Test func withAllProgramsAKnownKindOfNobodyIsGone() throws {
        let assignment = try assign(program("a", kinds("x")), program("b", kinds("y")), known: kinds("x", "old"))
        #expect(assignment.registry["old"] == nil)
    }

    @Test func absentWorkersTakeNoJobsAndGiveTheirReason() async {
        #expect(absent.room == 0)
        #expect(absent.roomForSuspects == 0)
        #expect(absent.problem == "worker c is away")
        #expect(AbsentWorkers { [] }.problem != nil)
    }
}
