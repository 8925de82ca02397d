import ControlProtocol
import Jobs

/// Writes a graph in the language of a drawing program.
enum GraphDiagram {
    /// Writes Graphviz: `halyard graph 7 --format dot | dot -Tsvg`.
    static func writeDot(_ detail: GraphDetail, to output: Output) throws {
        let shape = GraphShape(detail)
        try output.write("digraph \"\(quoted(detail.graph.name ?? "graph \(detail.graph.id)"))\" {\n")
        try output.write("  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n")
        for job in detail.jobs.sorted(by: { $0.id < $1.id }) {
            try output.write(
                "  j\(job.id) [label=\"\(quoted(job.title))\\n\(job.id) \(job.state.name)\", fillcolor=\"\(job.state.fill)\"];\n"
            )
        }
        for edge in detail.edges {
            if shape.jobs[edge.dependency] == nil {
                try output.write("  j\(edge.dependency) [label=\"job \(edge.dependency)\", style=dashed];\n")
            }
            let style = edge.condition == .succeeded ? "" : " [label=\"\(edge.condition.name)\", style=dashed]"
            try output.write("  j\(edge.dependency) -> j\(edge.dependent)\(style);\n")
        }
        try output.write("}\n")
    }

    /// Writes Mermaid, which Markdown pages display.
    static func writeMermaid(_ detail: GraphDetail, to output: Output) throws {
        let shape = GraphShape(detail)
        try output.write("flowchart LR\n")
        for job in detail.jobs.sorted(by: { $0.id < $1.id }) {
            try output.write(
                "  j\(job.id)[\"\(entities(job.title))<br/>\(job.id) \(job.state.name)\"]:::\(job.state.name)\n")
        }
        for edge in detail.edges {
            if shape.jobs[edge.dependency] == nil {
                try output.write("  j\(edge.dependency)([\"job \(edge.dependency)\"])\n")
            }
            let arrow = edge.condition == .succeeded ? "-->" : "-. \(edge.condition.name) .->"
            try output.write("  j\(edge.dependency) \(arrow) j\(edge.dependent)\n")
        }
        for state in JobState.allCases {
            try output.write("  classDef \(state.name) fill:\(state.fill)\n")
        }
    }

    /// Returns the text in a form that is safe between double quotes in dot.
    private static func quoted(_ text: String) -> String {
        var result = ""
        for character in TerminalText.safe(text) {
            if character == "\"" || character == "\\" { result.append("\\") }
            result.append(character)
        }
        return result
    }

    /// Returns the text in a form that is safe between double quotes in Mermaid, with character numbers as
    /// escapes.
    private static func entities(_ text: String) -> String {
        var result = ""
        for scalar in TerminalText.safe(text).unicodeScalars {
            switch scalar {
            case "\"", "<", ">", "&", "#", ";", "`", "[", "]", "{", "}", "|", "\\": result += "#\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
