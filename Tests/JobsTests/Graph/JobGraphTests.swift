import Foundation
import Jobs
import OperationTypes
import Testing

@Suite struct JobGraphTests {
    @Test func graphBecomesASubmission() throws {
        var graph = JobGraph(name: "save")
        let find = graph.add(Find.self, input: .init(query: "swift"))
        let page = graph.add(Fetch.self, from: find)
        let other = graph.add(Fetch.self, input: .init(url: "x"), after: [find.finished])
        let all = graph.add(Gather.self, named: "all", from: [page, other])
        let last = graph.add(Keep.self, from: all, input: .init(to: "there"), after: [find.succeeded])
        graph[last].queue = "slow"
        graph[last].priority = .veryHigh
        graph[last].startAt = Timestamp(milliseconds: 5)
        graph[page].definition = "fetch-gently"
        #expect(
            try graph.submission(key: "k")
                == Submission(
                    .jobs(
                        [
                            JobRequest(node: "find", definition: "find", input: Fixtures.json(#"{"query":"swift"}"#)),
                            JobRequest(node: "fetch", definition: "fetch-gently", after: [.init(.node("find"))]),
                            JobRequest(
                                node: "fetch-3", definition: "fetch", input: Fixtures.json(#"{"url":"x"}"#),
                                after: [.init(.node("find"), condition: .finished)]),
                            JobRequest(
                                node: "all", definition: "gather",
                                after: [.init(.node("fetch")), .init(.node("fetch-3"))]),
                            JobRequest(
                                node: "keep", definition: "keep", input: Fixtures.json(#"{"to":"there"}"#),
                                queue: "slow", priority: .veryHigh, startAt: Timestamp(milliseconds: 5),
                                after: [.init(.node("all")), .init(.node("find"))]),
                        ], name: "save"), key: "k"))
    }

    @Test func listTakesNodesOfSeveralKindsThatOfferTheSame() throws {
        var graph = JobGraph()
        let find = graph.add(Find.self, input: .init(query: "x"))
        let one = graph.add(Fetch.self, from: find)
        let two = graph.add(Cached.self, input: .init())
        let all = graph.add(Gather.self, from: [one.offer, two.offer])
        #expect(all.name == "gather")
        guard case .jobs(let jobs, nil) = try graph.submission().work else {
            Issue.record("no jobs")
            return
        }
        #expect(jobs[3].after == [.init(.node("fetch")), .init(.node("cached"))])
    }

    @Test func planOfATypedGraphNeverFailsOnTypes() throws {
        var graph = JobGraph()
        let find = graph.add(Find.self, input: .init(query: "x"))
        let page = graph.add(Fetch.self, from: find)
        graph.add(Gather.self, from: [page])
        graph.add(Keep.self, from: page, input: .init(to: "x"))
        let kinds = [Find.description, Fetch.description, Gather.description, Keep.description]
        let catalog = Catalog(
            DefinitionSet(
                kinds: kinds, definitions: Fixtures.stored(kinds.map { Definition(name: $0.name, kind: $0.name) })))
        #expect(try catalog.plan(graph.submission()).jobs.count == 4)
    }

    @Test func handleOfAnotherGraphIsRefused() throws {
        var other = JobGraph()
        let foreign = other.add(Find.self, input: .init(query: "x"))
        var graph = JobGraph()
        graph.add(Fetch.self, from: foreign)
        let problem = #expect(throws: JobGraphProblem.self) { try graph.submission() }
        #expect(
            problem?.description
                == #"node "fetch" refers to "find" of another graph; add that node to this graph first"#)
    }

    @Test func inputThatIsNoJSONIsRefused() throws {
        var graph = JobGraph()
        graph.add(Cached.self, input: .init(age: .infinity))
        let problem = #expect(throws: JobGraphProblem.self) { try graph.submission() }
        #expect(
            problem?.description.hasPrefix(#"the input of node "cached" cannot be encoded: the field "age""#) == true)
    }
}
