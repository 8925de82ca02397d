import Dispatch
import OperationsCompatibility
import Signals
import Synchronization
import Testing

/// Defect 34: Darwin's names did not compile on Linux, and `userInteractive` silently became `userInitiated`.
@Suite struct QoSTests {
    @Test func blocksSeeTheQoSThatWasAskedFor() {
        let first = Async.userInteractive { qos_class_self().description }
        first.wait()
        #expect(first.output == "User Interactive")
        let rest = [
            first.userInitiated { _ in qos_class_self().description },
            first.utility { _ in qos_class_self().description },
            first.background { _ in qos_class_self().description },
            first.main { _ in qos_class_self().description },
        ]
        for block in rest { block.wait() }
        #expect(rest.map(\.output) == ["User Initiated", "Utility", "Background", "Main"])
    }

    @Test func blocksOfACustomQueueSeeTheQoSOfTheQueue() async {
        let queue = DispatchQueue(label: "custom", qos: .utility, attributes: .concurrent)
        let block = Async.custom(queue: queue) { qos_class_self().description }
            .custom(queue: .main) { $0 + " " + qos_class_self().description }
        block.wait()
        #expect(block.output == "Utility Main")
        let seen = Shared<Set<String>>([])
        Apply.custom(queue: queue, iterations: 20) { _ in seen.value.insert(qos_class_self().description) }
        #expect(seen.value == ["Utility"])
        let group = AsyncGroup()
        group.custom(queue: queue) { seen.value = ["group " + qos_class_self().description] }
        #expect(await onThread { group.wait(seconds: 10) } == .success)
        #expect(seen.value == ["group Utility"])
    }

    @Test func aBlockOfAQueueWithoutQoSAndAThreadSeeNone() async {
        let block = Async.custom(queue: DispatchQueue(label: "custom")) { qos_class_self().description }
        block.wait()
        #expect(block.output == "Unspecified")
        #expect(await onThread { qos_class_self().description } == "Unspecified")
    }

    /// Code written for Darwin compares classes by these names, including in blocks of plain queues.
    @Test func blocksOfAGlobalQueueSeeItsClass() async {
        let classes: [DispatchQoS.QoSClass] = [.userInitiated, .utility, .background]
        for qos in classes {
            let seen = Shared<qos_class_t?>(nil)
            let done = Signal()
            DispatchQueue.global(qos: qos).async {
                seen.value = qos_class_self()
                done.send()
            }
            #expect(await done.wait())
            #expect(seen.value == qos.rawValue)
        }
        #expect(QOS_CLASS_USER_INTERACTIVE == DispatchQoS.QoSClass.userInteractive.rawValue)
        #expect(QOS_CLASS_USER_INITIATED.description == "User Initiated")
        #expect(QOS_CLASS_DEFAULT.description == "Default")
        #expect(QOS_CLASS_UTILITY.description == "Utility")
        #expect(QOS_CLASS_BACKGROUND.description == "Background")
        #expect(QOS_CLASS_UNSPECIFIED.description == "Unspecified")
    }

    @Test func descriptions() {
        let classes: [DispatchQoS.QoSClass] = [
            .userInteractive, .userInitiated, .default, .utility, .background, .unspecified,
        ]
        #expect(
            classes.map(\.description) == [
                "User Interactive", "User Initiated", "Default", "Utility", "Background", "Unspecified",
            ])
        #expect(qos_class_main().description == "Main")
        #expect(qos_class_t(rawValue: 77).description == "Unknown")
    }

    /// Defect 33: `Apply` used to return before the work was done.
    @Test func applyReturnsWhenEveryIndexCameOnce() {
        let seen = Mutex<[Int]>([])
        let qos = Mutex<Set<String>>([])
        Apply.background(100) { index in
            seen.withLock { $0.append(index) }
            qos.withLock { _ = $0.insert(qos_class_self().description) }
        }
        #expect(seen.withLock { $0.sorted() } == Array(0..<100))
        #expect(qos.withLock { $0 } == ["Background"])
        for apply in [Apply.userInteractive, Apply.userInitiated, Apply.utility] {
            seen.withLock { $0 = [] }
            apply(10) { index in seen.withLock { $0.append(index) } }
            #expect(seen.withLock { $0.sorted() } == Array(0..<10))
        }
        seen.withLock { $0 = [] }
        Apply.custom(queue: DispatchQueue(label: "custom"), iterations: 10) { index in
            seen.withLock { $0.append(index) }
        }
        #expect(seen.withLock { $0.sorted() } == Array(0..<10))
    }

    @Test func groupWaitsForBlocksAndForEnters() async {
        let group = AsyncGroup()
        #expect(group.wait(seconds: 0) == .success)
        let log = Log()
        let gate = Signal()
        group.background { _ = gate.wait() }
        group.utility { log.add(qos_class_self().description) }
        group.userInitiated { log.add(qos_class_self().description) }
        group.userInteractive { log.add(qos_class_self().description) }
        group.main { log.add(qos_class_self().description) }
        group.custom(queue: DispatchQueue(label: "custom")) { log.add("custom") }
        group.enter()
        #expect(group.wait(seconds: 0.01) == .timedOut)
        gate.send()
        #expect(group.wait(seconds: 0.01) == .timedOut)
        group.leave()
        #expect(await onThread { group.wait(seconds: 10) } == .success)
        #expect(Set(log.all) == ["Utility", "User Initiated", "User Interactive", "Main", "custom"])
    }

    @Test @MainActor func mainThreadDoesWhatWaitsForItWhileItWaitsForAGroup() {
        let group = AsyncGroup()
        let isDone = Shared(false)
        group.main { isDone.value = true }
        #expect(group.wait(seconds: 10) == .success)
        #expect(isDone.value)
        group.enter()
        #expect(group.wait(seconds: 0.001) == .timedOut)
        group.leave()
        #expect(group.wait(seconds: 10) == .success)
    }

    @Test func unbalancedLeaveTraps() async {
        await #expect(processExitsWith: .failure) { AsyncGroup().leave() }
    }
}
