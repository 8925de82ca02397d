import Jobs

extension Submission {
    /// The request's key. For the fingerprint of the request, a spooled file counts with its content instead of
    /// its name: a caller that repeats a request sends the file again, and the new copy has another name.
    var keyByContent: IdempotencyKey? {
        guard key != nil else { return nil }
        var request = self
        request.input = request.input.map(byContent)
        if case .jobs(var jobs, let name) = request.work {
            for index in jobs.indices { jobs[index].input = jobs[index].input.map(byContent) }
            request.work = .jobs(jobs, name: name)
        }
        return request.idempotencyKey
    }

    private func byContent(_ input: JSONText) -> JSONText {
        guard !SpooledFile.files(in: input).isEmpty, var object = JSONObject(input) else { return input }
        for (field, value) in object.fields {
            guard let file = value.decodedString.flatMap(SpooledFile.init), let print = file.name.print else {
                continue
            }
            object[field] = JSONText(string: SpooledFile.prefix + print + file.suffix)
        }
        return object.text
    }
}
