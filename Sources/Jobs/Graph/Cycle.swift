/// Finds a cycle among nodes numbered from 0, in time linear in nodes and edges, without recursion.
///
/// - Parameter dependencies: For each node, the nodes that it waits for.
/// - Returns: The nodes of a cycle, beginning with the lowest number. Each node waits for the one before it, and the
///   first waits for the last. Nil if there is no cycle.
func findCycle(_ dependencies: [[Int]]) -> [Int]? {
    enum Mark { case unseen, onPath, done }
    var marks = [Mark](repeating: .unseen, count: dependencies.count)
    var path: [(node: Int, next: Int)] = []
    for root in dependencies.indices where marks[root] == .unseen {
        marks[root] = .onPath
        path.append((root, 0))
        while let (node, next) = path.last {
            guard next < dependencies[node].count else {
                marks[node] = .done
                path.removeLast()
                continue
            }
            path[path.count - 1].next += 1
            let dependency = dependencies[node][next]
            switch marks[dependency] {
            case .done: continue
            case .unseen:
                marks[dependency] = .onPath
                path.append((dependency, 0))
            case .onPath:
                let start = path.lastIndex { $0.node == dependency } ?? 0
                // The path leads from each node to one it waits for; the result has the opposite order.
                let cycle = Array(path[start...].map(\.node).reversed())
                let lowest = cycle.indices.min { cycle[$0] < cycle[$1] } ?? 0
                return Array(cycle[lowest...] + cycle[..<lowest])
            }
        }
    }
    return nil
}
