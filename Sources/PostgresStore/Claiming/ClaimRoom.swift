import Jobs

/// The number of jobs that a claim may still take, by kind and class.
struct ClaimRoom {
    private var request: ClaimRequest
    /// False if only slots limit the claim.
    let isLimited: Bool

    init(_ request: ClaimRequest) {
        self.request = request
        isLimited = !request.room.isEmpty || !request.suspectRoom.isEmpty || request.suspects != nil
    }

    /// Whether a suspect of some kind may have room.
    var admitsSuspects: Bool { request.suspects ?? 1 > 0 }

    func admits(_ lane: Lane) -> Bool {
        lane.laneClass == .suspect
            ? admitsSuspects && request.suspectRoom[lane.kind] ?? 1 > 0 : request.room[lane.kind] ?? 1 > 0
    }

    mutating func take(_ lane: Lane) {
        if lane.laneClass == .suspect {
            request.suspects? -= 1
            request.suspectRoom[lane.kind]? -= 1
        } else {
            request.room[lane.kind]? -= 1
        }
    }
}
