import Jobs

/// The reason for which a ready job needs room in a claim (``ClaimRequest/room``).
enum RoomClass: Hashable {
    /// A job of the kind with this index in ``Memory/kinds``, unless it is a suspect.
    case kind(Int)
    /// A suspect of the kind with this index.
    case suspect(Int)
}

/// The number of jobs that a claim may still take.
struct ClaimRoom {
    private var kinds: [Int: Int] = [:]
    /// The number of suspects of all kinds together.
    private var suspects: Int
    private var suspectKinds: [Int: Int] = [:]
    /// False if only slots limit the claim.
    let isLimited: Bool

    init(_ request: ClaimRequest, _ memory: Memory) {
        for (name, room) in request.room {
            // No definition has ever named another kind, so there is no job of it.
            if let kind = memory.kinds[name] { kinds[kind] = room }
        }
        for (name, room) in request.suspectRoom {
            if let kind = memory.kinds[name] { suspectKinds[kind] = room }
        }
        if let wanted = request.kinds {
            for (name, kind) in memory.kinds where !wanted.contains(name) {
                kinds[kind] = 0
                suspectKinds[kind] = 0
            }
        }
        suspects = request.suspects ?? .max
        isLimited = !kinds.isEmpty || !suspectKinds.isEmpty || request.suspects != nil
    }

    /// Whether a suspect of some kind may have room.
    var admitsSuspects: Bool { suspects > 0 }

    func admits(_ job: RoomClass) -> Bool {
        switch job {
        case .kind(let kind): kinds[kind] ?? 1 > 0
        case .suspect(let kind): suspects > 0 && suspectKinds[kind] ?? 1 > 0
        }
    }

    mutating func take(_ job: RoomClass) {
        switch job {
        case .kind(let kind): kinds[kind]? -= 1
        case .suspect(let kind):
            suspects -= 1
            suspectKinds[kind]? -= 1
        }
    }
}
