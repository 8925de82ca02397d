/// Collects microdata items and their properties while the parser runs. The number of items and properties is limited.
struct Microdata {
    private struct Item {
        var type: String
        var texts: [(name: String, value: String)] = []
        var children: [(name: String, item: Int)] = []
        var isNested: Bool
    }

    private var items: [Item] = []
    private var properties = 0

    mutating func begin(type: String?, as names: [String], in owner: Int?) -> Int? {
        guard items.count < 500 else { return nil }
        items.append(Item(type: type ?? "", isNested: owner != nil && !names.isEmpty))
        let index = items.count - 1
        if let owner { for name in names { items[owner].children.append((name, index)) } }
        return index
    }

    mutating func add(_ name: String, _ value: String, to item: Int?) {
        guard let item, properties < 3000, !value.isEmpty else { return }
        properties += 1
        items[item].texts.append((name, value))
    }

    /// Returns the items that are not properties of other items. An item occurs once for each of its names, and so do
    /// the items in it, so the number of objects is limited.
    func objects() -> [JSONValue] {
        var left = 3000
        return items.indices.filter { !items[$0].isNested }.map { object($0, depth: 0, &left) }
    }

    private func object(_ index: Int, depth: Int, _ left: inout Int) -> JSONValue {
        left -= 1
        let item = items[index]
        var members: [(name: String, value: JSONValue)] = [("@type", .string(item.type))]
        var values: [String: [JSONValue]] = [:]
        var order: [String] = []
        func add(_ name: String, _ value: JSONValue) {
            if values[name] == nil { order.append(name) }
            values[name, default: []].append(value)
        }
        for (name, value) in item.texts { add(name, .string(value)) }
        for (name, child) in item.children where depth < 6 && left > 0 {
            add(name, object(child, depth: depth + 1, &left))
        }
        for name in order {
            members.append((name, values[name]?.count == 1 ? values[name]?[0] ?? .null : .array(values[name] ?? [])))
        }
        return .object(members)
    }
}
