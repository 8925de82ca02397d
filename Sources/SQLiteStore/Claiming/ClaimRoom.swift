import Jobs

/// The reason for which a ready job needs room in a claim (``ClaimRequest/room``).
enum RoomClass: Hashable {
    /// A job of the kind with this index in ``Memory/kinds``, unless it is a suspect.
    case kind(Int)
    /// A suspect of any kind.
    case suspect
}

/// The number of jobs that a claim may still take.
struct ClaimRoom {
    private var kinds: [Int: Int] = [:]
    private var suspects: Int
    /// False if only slots limit the claim.
    let isLimited: Bool

    init(_ request: ClaimRequest, _ memory: Memory) {
        for (name, room) in request.room {
            // No definition has ever named another kind, so there is no job of it.
            if let kind = memory.kinds[name] { kinds[kind] = room }
        }
        suspects = request.suspects ?? .max
        isLimited = !kinds.isEmpty || request.suspects != nil
    }

    func admits(_ job: RoomClass) -> Bool {
        switch job {
        case .kind(let kind): kinds[kind] ?? 1 > 0
        case .suspect: suspects > 0
        }
    }

    mutating func take(_ job: RoomClass) {
        switch job {
        case .kind(let kind): kinds[kind]? -= 1
        case .suspect: suspects -= 1
        }
    }
}
