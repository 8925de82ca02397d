import Jobs
import OperationTypes
import WorkerProtocol

/// Every message with its JSON. Other languages rely on it: fields may be added, but the existing ones must not change.
enum Golden {
    private static let lease = Lease(job: JobID(7), attempt: 2)

    static let daemonMessages: [(message: DaemonMessage, json: String)] = [
        (
            .hello(
                Hello(
                    version: "1.2.3", attempts: 16,
                    settings: JSONText(trusted: Array(#"{"photos.folder":"/srv/photos"}"#.utf8)))),
            #"{"type":"hello","protocol":1,"version":"1.2.3","attempts":16,"checkpoints":true,"settings":{"photos.folder":"/srv/photos"}}"#
        ),
        (
            .output(DependencyMessage(lease: lease, kind: "unfurl", output: JSONText(trusted: Array("null".utf8)))),
            #"{"type":"output","job":7,"attempt":2,"kind":"unfurl","output":null}"#
        ),
        (
            .run(Run(lease: lease, kind: "greet", input: JSONText(trusted: Array(#"{"name":"Ada"}"#.utf8)))),
            #"{"type":"run","job":7,"attempt":2,"kind":"greet","tries":0,"retry":{"tries":1,"delay":"none","jitter":"none","on":"retryable"},"input":{"name":"Ada"}}"#
        ),
        (
            .run(
                Run(
                    lease: lease, kind: "greet", input: .emptyObject, tries: 1,
                    retry: RetryPolicy(
                        tries: 3, delay: .exponential(initial: .seconds(1), multiplier: 2, cap: .seconds(300)),
                        jitter: .full, failures: .codes(["busy"])),
                    timeout: .seconds(30))),
            #"{"type":"run","job":7,"attempt":2,"kind":"greet","tries":1,"retry":{"tries":3,"delay":"exponential","initial":"1s","multiplier":2,"cap":"5m","jitter":"full","on":["busy"]},"timeout_ms":30000,"input":{}}"#
        ),
        (
            .run(
                Run(
                    lease: lease, kind: "greet", input: .emptyObject,
                    checkpoint: JSONText(trusted: Array(#"{"done":3}"#.utf8)))),
            #"{"type":"run","job":7,"attempt":2,"kind":"greet","tries":0,"retry":{"tries":1,"delay":"none","jitter":"none","on":"retryable"},"checkpoint":{"done":3},"input":{}}"#
        ), (.checkpointed(lease, id: 3), #"{"type":"checkpointed","job":7,"attempt":2,"id":3}"#),
        (
            .checkpointRefused(lease, id: 3, CheckpointRefusal(.tooLarge, message: "Save less.")),
            #"{"type":"checkpoint_refused","job":7,"attempt":2,"id":3,"reason":"too_large","message":"Save less."}"#
        ),
        (
            .checkpointRefused(lease, id: 3, CheckpointRefusal(.leaseLost, message: "Stop.")),
            #"{"type":"checkpoint_refused","job":7,"attempt":2,"id":3,"reason":"lease_lost","message":"Stop."}"#
        ),
        (
            .checkpointRefused(lease, id: 3, CheckpointRefusal(.notSaved, message: "Save later.")),
            #"{"type":"checkpoint_refused","job":7,"attempt":2,"id":3,"reason":"not_saved","message":"Save later."}"#
        ),
        (
            .stop(lease, StopRequest(.cancelled, isForGood: true)),
            #"{"type":"stop","job":7,"attempt":2,"reason":"cancelled","for_good":true}"#
        ),
        (
            .stop(lease, StopRequest(.timedOut, isForGood: false)),
            #"{"type":"stop","job":7,"attempt":2,"reason":"timed_out","for_good":false}"#
        ),
        (
            .stop(lease, StopRequest(.interrupted, isForGood: false)),
            #"{"type":"stop","job":7,"attempt":2,"reason":"interrupted","for_good":false}"#
        ),
        (
            .check(
                id: 4,
                [
                    PlannedInput(kind: "greet", input: .emptyObject, stage: .definition),
                    PlannedInput(kind: "greet", input: .emptyObject, stage: .waiting),
                    PlannedInput(kind: "greet", input: .emptyObject, stage: .whole),
                ]),
            #"{"type":"check","id":4,"inputs":[{"kind":"greet","stage":"definition","input":{}},{"kind":"greet","stage":"waiting","input":{}},{"kind":"greet","stage":"whole","input":{}}]}"#
        ),
        (.recorded(lease, kind: "upload"), #"{"type":"recorded","job":7,"attempt":2,"kind":"upload"}"#),
        (.cleanUp(id: 5), #"{"type":"clean_up","id":5}"#),
        (.jobState(id: 6, .failed), #"{"type":"job_state","id":6,"state":"failed"}"#),
        (.jobState(id: 6, nil), #"{"type":"job_state","id":6}"#),
        (.ping(id: 8), #"{"type":"ping","id":8}"#),
        (.drain, #"{"type":"drain"}"#),
    ]

    static let workerMessages: [(message: WorkerMessage, json: String)] = [
        (
            .kinds(
                Announcement(
                    version: "2.0",
                    kinds: [
                        AnnouncedKind(
                            KindDescription(
                                name: "greet", summary: "Greets somebody.", inputType: "Greet.Input",
                                outputType: "String", accepts: "Name", offers: "String",
                                fields: [
                                    InputField(
                                        "name", .string, choices: ["Ada", "Alan"], isRequired: true,
                                        isFromDependency: true, summary: "whom to greet"),
                                    InputField("times", .integer, range: 1...9, summary: "how often"),
                                    InputField("page", .string, schemes: ["https"], summary: "an address"),
                                ]), checksInputs: true, cleansUp: true)
                    ], warnings: ["photos.folder is empty"])),
            #"{"type":"kinds","protocol":1,"version":"2.0","kinds":[{"name":"greet","summary":"Greets somebody.","input_type":"Greet.Input","output_type":"String","accepts":"Name","offers":"String","fields":[{"name":"name","shape":"string","choices":["Ada","Alan"],"required":true,"from_dependency":true,"summary":"whom to greet"},{"name":"times","shape":"integer","range":[1,9],"required":false,"from_dependency":false,"summary":"how often"},{"name":"page","shape":"string","schemes":["https"],"required":false,"from_dependency":false,"summary":"an address"}],"checks":true,"cleans_up":true}],"warnings":["photos.folder is empty"]}"#
        ),
        (.kinds(Announcement(kinds: [])), #"{"type":"kinds","protocol":1,"kinds":[]}"#),
        (
            .refused([
                SettingRefusal(key: "photos.folder", message: #"is "x"; write an absolute path"#),
                SettingRefusal(key: "photos.roots", entry: 1, message: "is missing; mount it", errorNumber: 2),
            ]),
            #"{"type":"refused","settings":[{"key":"photos.folder","message":"is \"x\"; write an absolute path"},{"key":"photos.roots","entry":1,"message":"is missing; mount it","errno":2}]}"#
        ),
        (
            .started([lease, Lease(job: JobID(8), attempt: 1)]),
            #"{"type":"started","attempts":[{"job":7,"attempt":2},{"job":8,"attempt":1}]}"#
        ),
        (
            .progress(lease, OperationProgress(completed: 3, total: 9, unit: "bytes")),
            #"{"type":"progress","job":7,"attempt":2,"completed":3,"total":9,"unit":"bytes"}"#
        ),
        (
            .progress(lease, OperationProgress(completed: 3, unit: "")),
            #"{"type":"progress","job":7,"attempt":2,"completed":3,"unit":""}"#
        ),
        (
            .checkpoint(lease, id: 3, JSONText(trusted: Array(#"{"done":3}"#.utf8))),
            #"{"type":"checkpoint","job":7,"attempt":2,"id":3,"checkpoint":{"done":3}}"#
        ),
        (
            .connections(lease, JSONText(trusted: Array(#"[{"number":1}]"#.utf8))),
            #"{"type":"connections","job":7,"attempt":2,"connections":[{"number":1}]}"#
        ),
        (
            .succeeded(lease, output: JSONText(string: "Hello"), children: []),
            #"{"type":"succeeded","job":7,"attempt":2,"output":"Hello"}"#
        ),
        (
            .succeeded(
                lease, output: .null,
                children: [
                    ChildJob(definition: "thank"),
                    ChildJob(definition: "greet", input: .emptyObject, queue: "slow", priority: .high),
                ]),
            #"{"type":"succeeded","job":7,"attempt":2,"children":[{"definition":"thank"},{"definition":"greet","queue":"slow","priority":"high","input":{}}],"output":null}"#
        ),
        (
            .failed(
                lease,
                TryFailure(
                    JobFailure(code: "busy", message: "try later", detail: .emptyObject), isRetryable: true,
                    retryAfter: .milliseconds(1500))),
            #"{"type":"failed","job":7,"attempt":2,"code":"busy","message":"try later","detail":{},"retryable":true,"retry_after_ms":1500}"#
        ),
        (
            .failed(lease, TryFailure(JobFailure(code: "lost", message: "nobody is there"), isRetryable: false)),
            #"{"type":"failed","job":7,"attempt":2,"code":"lost","message":"nobody is there","retryable":false}"#
        ),
        (
            .checked(
                id: 4,
                refusals: [
                    nil, InputRefusal("name is empty"), InputRefusal("no such file", reason: .fileOutsideRoots),
                    InputRefusal("not for this host", reason: .credentialRefused),
                ]),
            #"{"type":"checked","id":4,"refusals":[null,{"reason":"invalid","message":"name is empty"},{"reason":"file_outside_roots","message":"no such file"},{"reason":"credential_refused","message":"not for this host"}]}"#
        ),
        (
            .jobState(id: 6, kind: "upload", job: JobID(7)),
            #"{"type":"job_state","id":6,"kind":"upload","job":7}"#
        ),
        (.cleanedUp(id: 5, isAnythingLeft: true), #"{"type":"cleaned_up","id":5,"left":true}"#),
        (.pong(id: 8), #"{"type":"pong","id":8}"#),
    ]
}
