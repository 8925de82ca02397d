extension JSONText {
    /// The same value without space, and with a uniform escaping of strings. Names keep their order, and numbers stay
    /// as written.
    public var compact: JSONText { normalized(isSorted: false) }

    /// The ``compact`` form with names sorted by their bytes, which does not depend on the order used by the client.
    public var canonical: JSONText { normalized(isSorted: true) }

    private func normalized(isSorted: Bool) -> JSONText {
        switch shape {
        case .object:
            var object = JSONObject()
            var fields = (JSONObject(self) ?? JSONObject()).fields
            if isSorted { fields.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) } }
            for (name, value) in fields { object.append(name, value.normalized(isSorted: isSorted)) }
            return object.text
        case .array: return JSONText(elements: (elements ?? []).map { $0.normalized(isSorted: isSorted) })
        case .string: return JSONText(string: decodedString ?? "")
        case .number: return JSONText(trusted: Array(numberToken.utf8))
        case .boolean: return JSONText(boolean: boolean ?? false)
        case .null: return .null
        }
    }
}
