import ControlProtocol
import Jobs

/// The input that a definition, or a node of a graph definition, itself contains.
package struct OwnInput: Sendable {
    /// The input with its kind, in the form in which a check receives it.
    package let planned: PlannedInput
    fileprivate let definition: String
    fileprivate var node: (graph: String, name: String)?

    /// Converts a kind's refusal of the input, or of the program, to a problem of its definition.
    package func problem(_ refusal: ControlProblem) -> DefinitionProblem {
        let text = refusal.message.hasSuffix(".") ? String(refusal.message.dropLast()) : refusal.message
        guard let node else {
            return .init(
                .definition(definition), planned.program == nil ? .badInput(.refused(text)) : .refusedProgram(text))
        }
        return .init(.graph(node.graph), .badNode(node.name, .badInput(.refused(text))))
    }
}

extension DefinitionChange {
    /// Returns the inputs in the change's definitions and graphs, so that their kinds can check them.
    ///
    /// - Parameter set: The definitions to which the change is applied.
    package func ownInputs(over set: DefinitionSet) -> [OwnInput] {
        var known = Dictionary(
            set.definitions.map { ($0.definition.name, $0.definition) }, uniquingKeysWith: { _, last in last })
        for definition in definitions { known[definition.name] = definition }
        let own = definitions.map { definition in
            OwnInput(
                planned: PlannedInput(
                    kind: definition.kind, input: definition.input, stage: .definition, program: definition.program),
                definition: definition.name)
        }
        return own
            + graphs.flatMap { graph in
                graph.nodes.compactMap { node -> OwnInput? in
                    guard let definition = known[node.definition], let input = node.input.flatMap(JSONObject.init),
                        let defaults = JSONObject(definition.input)
                    else { return nil }
                    return OwnInput(
                        planned: PlannedInput(
                            kind: definition.kind, input: defaults.overlaid(by: input).text, stage: .definition,
                            program: definition.program),
                        definition: definition.name, node: (graph.name, node.name))
                }
            }
    }
}
