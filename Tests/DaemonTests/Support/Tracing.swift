import Programs

func canTrace() async -> Bool {
    // The status is not 0 without strace, or without permission to trace.
    (try? await ChildProcess.run("strace", ["-qq", "-o", "/dev/null", "true"]))?.status == .exited(0)
}
