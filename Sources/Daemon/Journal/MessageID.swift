/// The `MESSAGE_ID` of each kind of event, by the value of the metadata key `HALYARD_EVENT`. They never change; a message
/// catalog explains them.
enum MessageID {
    static let byEvent: [String: String] = [
        "daemon-ready": "f062e1283889427db5221ad5f8760eee",
        "daemon-stopping": "e27faea248354832aa8547b29d4d53e3",
        "daemon-stopped": "96433b684cbc4a22a49360c2d2e68c93",
        "daemon-failed": "b1119fd7331245a6b32773903572c443",
        "daemon-hung": "27a0c603b07c4957b9af1d2225c6b9e5",
        "reloaded": "a33e67cde312487d9b0644b679cb6d8a",
        "reload-refused": "097e6f8e5a934cba94afb55ac9086290",
        "definition-refused": "0e39d304cfcb4af69dc6e4b1254ca18e",
        "jobs-rescued": "3c1e1c77d7bf4487a2c1f9907bb004a6",
        "job-rescued": "b99f4bd4af6047feb4d43f287d11a67f",
        "job-crashed": "852d025831bc4cd480e415c69c7e94f4",
        "job-enqueued": "cd87957bf8b74aea81d75ec91b263d16",
        "attempt-started": "06b2856a367241afb9487cd31a6389a9",
        "cancel-asked": "d96a5783d42c4c8699c02347b4126dfa",
        "job-cancelled": "7d96c90ca47e4f1096300bfa702c528b",
        "job-skipped": "c92587960e4c491daa468fd9f0ec21de",
        "story-shortened": "43b6804258a44dcbbef1c23eeed204b5",
        "attempt-succeeded": "6a53efe209f148ccaefd3d51b407007f",
        "job-failed": "5b2a981a386a447091eac30da957872c",
        "attempt-retried": "a9cdd5b6bc7a46c29a56063e4033796c",
        "attempt-cancelled": "ff2ef8578d71462699141e7b3a545c6d",
        "attempt-interrupted": "4a25052ad6fc4fb38a0700d4320ecf0c",
        "lease-lost": "792b1545b75c46efad1168d613b1881e",
        "schedule-fired": "f4d9a822b74644779adbec2f11d13217",
        "schedule-refused": "f8463ea62e914ee5930d2097a324eaf1",
        "schedule-skipped": "e43f285a342e481da046dabec22551d5",
        "schedule-missed": "78623521a4cd4ae283e6faa7a3b06995",
        "attempt-abandoned": "e9b6e08698cf42f3b1ed70830a09e363",
    ]
}
