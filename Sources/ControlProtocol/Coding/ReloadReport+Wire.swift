import Jobs

extension ReloadReport: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(problems: fields.list("problems", \.problems))
    }
}
