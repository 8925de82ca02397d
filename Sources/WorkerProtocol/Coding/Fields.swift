import Jobs

extension WorkerProtocol {
    /// Checks that an encoded message, with its line break, can be received.
    ///
    /// - Throws: ``WorkerProtocolProblem`` if it is too long, nested too deeply, or not JSON.
    package static func check(_ line: [UInt8]) throws(WorkerProtocolProblem) {
        do {
            _ = try JSONText(checkingEnvelope: line, limit: maxLineBytes + 1)
        } catch {
            throw WorkerProtocolProblem("\(error)")
        }
    }

    /// Appends the JSON object whose fields are written by the closure, and a line break.
    ///
    /// Stored JSON may contain line breaks between its values; they become spaces.
    static func append(to bytes: inout [UInt8], _ fields: (inout JSONWriter) -> Void) {
        let start = bytes.count
        bytes += JSONWriter.text { $0.object(fields) }.bytes
        for index in start..<bytes.count where bytes[index] == 0x0A || bytes[index] == 0x0D { bytes[index] = 0x20 }
        bytes.append(0x0A)
    }
}

extension WorkerProtocolProblem {
    /// Parses a line as an object with a `type`.
    ///
    /// - Parameter message: Returns nil for an unknown type.
    static func reading<Message>(
        _ line: [UInt8], _ message: (String, JSONFields) throws(ShapeProblem) -> Message?
    ) throws(WorkerProtocolProblem) -> Message {
        let found: Message?
        do {
            let fields = JSONFields(try JSONObject(checkingEnvelope: line, limit: WorkerProtocol.maxLineBytes))
            found = try message(try fields.required("type", fields.string("type")), fields)
        } catch {
            throw WorkerProtocolProblem("\(error)")
        }
        guard let found else { throw WorkerProtocolProblem("the type of the message is unknown") }
        return found
    }
}

extension JSONFields {
    func job() throws(ShapeProblem) -> JobID { JobID(Int64(try required("job", integer("job")))) }

    func lease() throws(ShapeProblem) -> Lease {
        Lease(job: try job(), attempt: try required("attempt", integer("attempt")))
    }

    func id() throws(ShapeProblem) -> Int { try required("id", integer("id")) }

    /// Reads a whole number of at least `least`; nil if the field is absent.
    func integer(_ name: String, atLeast least: Int) throws(ShapeProblem) -> Int? {
        guard let value = try integer(name) else { return nil }
        guard value >= least else { throw problem(name, "expected at least \(least), found \(value)") }
        return value
    }

    /// Reads a duration in milliseconds; nil if the field is absent.
    func milliseconds(_ name: String) throws(ShapeProblem) -> Duration? {
        try integer(name, atLeast: 0).map { .milliseconds($0) }
    }

    /// Reads a list of strings; nil if the field is absent.
    func strings(_ name: String) throws(ShapeProblem) -> [String]? {
        try elements(name)?.enumerated().map { (index, element) throws(ShapeProblem) in
            guard let string = element.decodedString else {
                throw problem("\(name).\(index)", "expected a string, found \(element.shape.phrase)")
            }
            return string
        }
    }

    func array(_ name: String) throws(ShapeProblem) -> JSONText {
        let value = try json(name)
        guard value.shape == .array else { throw problem(name, "expected a list, found \(value.shape.phrase)") }
        return value
    }

    func list<Element>(
        _ name: String, _ read: (JSONFields) throws(ShapeProblem) -> Element
    ) throws(ShapeProblem) -> [Element] {
        try optionals(name, read).enumerated().map { (index, element) throws(ShapeProblem) in
            try required("\(name).\(index)", element)
        }
    }

    /// Reads a list of objects, in which null gives nil.
    func optionals<Element>(
        _ name: String, _ read: (JSONFields) throws(ShapeProblem) -> Element
    ) throws(ShapeProblem) -> [Element?] {
        try required(name, elements(name)).enumerated().map { (index, element) throws(ShapeProblem) in
            element.isNull ? nil : try read(try JSONFields(element, at: path + [name, "\(index)"]))
        }
    }
}

extension JSONWriter {
    mutating func type(_ type: String) { field("type", type) }

    mutating func type(_ type: String, _ lease: Lease) {
        field("type", type)
        fields(of: lease)
    }

    mutating func type(_ type: String, id: Int) {
        field("type", type)
        field("id", Int64(id))
    }

    mutating func fields(of lease: Lease) {
        field("job", lease.job.rawValue)
        field("attempt", Int64(lease.attempt))
    }
}
