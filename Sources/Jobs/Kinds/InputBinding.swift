/// Builds the input of one attempt.
///
/// 1. An explicit input that is not a JSON object is the whole input.
/// 2. Otherwise the input consists of the definition's fields, overlaid by the explicit fields.
/// 3. If the kind accepts its own input type, the value that a dependency offers supplies the fields that are still
///    missing.
/// 4. Any other kind decodes the fields first and then accepts the value that a dependency offers.
struct InputBinding<K: Kind> {
    let payload: JobPayload
    let kinds: KindRegistry

    func input() throws -> K.Input {
        let text = payload.input
        guard let offered = try offered(), let fields = JSONObject(text) else {
            return try PayloadCoding.decode(K.Input.self, from: text)
        }
        if K.Accepted.self == K.Input.self, let whole = offered as? K.Input {
            if fields.isEmpty { return whole }
            if let beneath = JSONObject(try PayloadCoding.encode(whole)) {
                return try PayloadCoding.decode(K.Input.self, from: beneath.overlaid(by: fields).text)
            }
        }
        var input = try PayloadCoding.decode(K.Input.self, from: text)
        K.accept(offered, into: &input)
        return input
    }

    /// The value that the dependencies offer: the first value of a fitting type or, if a list is accepted, all of them.
    private func offered() throws -> K.Accepted? {
        guard K.Accepted.self != Never.self, !payload.dependencies.isEmpty else { return nil }
        let offers = payload.dependencies.compactMap { dependency in
            dependency.output.map { Offer(kind: kinds[dependency.kind], output: $0) }
        }
        if let first = offers.first(where: { $0.fits(K.Accepted.self) }) { return try first.value() }
        guard let list = K.Accepted.self as? any AcceptedList.Type else { return nil }
        return try list.collecting(offers) as? K.Accepted
    }
}

/// One dependency's output, before it is decoded.
struct Offer {
    /// The kind that produced the output; nil if this process does not know it.
    let kind: RunnableKind?
    let output: JSONText

    func fits(_ type: Any.Type) -> Bool { type == AnyOutput.self || type == kind?.offeredType }

    /// Decodes the output; nil if its type does not fit.
    func value<T>(as type: T.Type = T.self) throws -> T? {
        if type == AnyOutput.self { return AnyOutput(json: output.string) as? T }
        guard let kind, kind.offeredType == type else { return nil }
        return try kind.offer(output) as? T
    }
}

/// An array that collects the offers of all dependencies.
protocol AcceptedList {
    static var elementName: String { get }
    static var elementType: any Any.Type { get }
    static func collecting(_ offers: [Offer]) throws -> Self
}

extension Array: AcceptedList {
    static var elementName: String { nameOfType(Element.self) }
    static var elementType: any Any.Type { Element.self }
    static func collecting(_ offers: [Offer]) throws -> [Element] { try offers.compactMap { try $0.value() } }
}
