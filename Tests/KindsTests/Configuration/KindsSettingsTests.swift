import Kinds
import Settings
import Testing

@Suite struct KindsSettingsTests {
    /// The daemon passes exactly the settings that the kinds read.
    @Test func theDaemonKnowsTheKeysOfTheKinds() {
        #expect(WorkerSetting.all.map(\.key) == KindsSettings.all.map(\.key))
        #expect(WorkerSetting.all.map(\.isList) == KindsSettings.all.map(\.isList))
    }
}
