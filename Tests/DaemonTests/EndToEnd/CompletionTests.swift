import Glibc
import Programs
import Testing

private func isInstalled(_ shell: String) -> Bool { access("/usr/bin/\(shell)", X_OK) == 0 }

/// The names and numbers that a shell offers after TAB, as the shell itself gives them.
@Suite(.timeLimit(.minutes(2))) struct CompletionTests {
    private let bed: TestBed

    init() throws { bed = try TestBed() }

    @Test func bashOffersWhatTheDaemonKnows() async throws { try await expectOffers(in: "bash") }

    @Test(.enabled(if: isInstalled("zsh"), "zsh is not installed"))
    func zshOffersWhatTheDaemonKnows() async throws { try await expectOffers(in: "zsh") }

    @Test(.enabled(if: isInstalled("fish"), "fish is not installed"))
    func fishOffersWhatTheDaemonKnows() async throws { try await expectOffers(in: "fish") }

    /// Neither a message nor an error may appear in the line that is being typed.
    @Test func withoutADaemonNothingIsPrinted() async throws {
        for subject in ["definitions", "queues", "schedules", "graphs", "jobs", "open-jobs", "finished-jobs"] {
            let said = try await bed.halyard("names", subject)
            #expect(said == (.exited(0), "", ""))
        }
        #expect(try await offers(in: "bash", ["halyard enqueue "]) == [[]])
    }

    /// A daemon that was stopped in a debugger, say, accepts connections and answers none.
    @Test func aDaemonThatDoesNotAnswerIsNotWaitedFor() async throws {
        try await bed.withDaemon { daemon in
            daemon.signal(SIGSTOP)
            defer { daemon.signal(SIGCONT) }
            let said = try await bed.halyard("names", "definitions")
            #expect(said == (.exited(0), "", ""))
        }
    }

    private func expectOffers(in shell: String) async throws {
        try await bed.withDaemon { _ in
            for _ in 1...2 { try await bed.enqueue("visit", bed.server.site + "/page", "--in", "1h") }
            try await bed.enqueue("visit", bed.server.site + "/page")
            try await bed.halyard("wait", "3")
            let offered = try await offers(
                in: shell,
                [
                    "halyard enqueue ", "halyard queues pause ", "halyard cancel ", "halyard result ",
                    "halyard list --queue ",
                ])
            #expect(
                offered == [
                    ["send", "visit", "visit-twice"], ["default", "network"], ["1", "2"], ["3"],
                    ["default", "network"],
                ])
        }
    }

    /// The words that complete each line, from one run of the shell and one of `halyard` for the script: of a debug build
    /// and of fish, each start takes a second of a busy machine.
    private func offers(in shell: String, _ lines: [String]) async throws -> [Set<String>] {
        let script = try await bed.halyard("--generate-completion-script", shell).output
        try bed.folder.write(script + "\n", to: shell == "zsh" ? "_halyard" : "halyard.\(shell)")
        let programs = "/" + binary("halyard").split(separator: "/").dropLast().joined(separator: "/")
        let environment = [
            "HALYARD_SOCKET": bed.socket, "HALYARD_DATABASE": bed.database, "PATH": "\(programs):/usr/bin:/bin",
            "HOME": bed.folder.path, "TERM": "dumb", "LANG": "C.UTF-8",
        ]
        var offers: [Set<String>] = []
        for together in shell == "zsh" ? lines.map({ [$0] }) : [lines] {
            let said = try await ChildProcess.run(
                shell, Self.arguments(shell, together, folder: bed.folder.path), environment: environment)
            #expect(said.status == .exited(0), "\(said)")
            let words = said.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
            offers += words.split(separator: "next line", omittingEmptySubsequences: false).prefix(together.count)
                .map { Set($0) }
        }
        return offers
    }

    /// Prints the words for each line, and `next line` after them. For zsh, which starts a terminal for each line, takes one
    /// line and prints only its words.
    private static func arguments(_ shell: String, _ lines: [String], folder: String) -> [String] {
        switch shell {
        case "bash":
            let completions = lines.map { line in
                """
                COMP_LINE='\(line)' COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
                read -ra COMP_WORDS <<< "$COMP_LINE"
                COMP_WORDS+=("")
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                COMPREPLY=()
                _halyard halyard "" "${COMP_WORDS[COMP_CWORD - 1]}"
                printf '%s\\n' "${COMPREPLY[@]}" | grep -v -e '^-' -e '^$' || true
                echo 'next line'

                """
            }
            return ["--norc", "-c", "source \(folder)/halyard.bash\n" + completions.joined()]
        case "fish":
            let completions = lines.map { "complete -C '\($0)' | string match -v -- '-*'; echo 'next line'; " }
            return ["--no-config", "-c", "source \(folder)/halyard.fish; " + completions.joined()]
        default:
            // Zsh completes on a terminal only. There `compadd` prints what it is given instead of adding it.
            return [
                "-f", "-c",
                """
                zmodload zsh/zpty
                zpty shell zsh -f -i
                zpty -w shell "PS1= PS2=; unsetopt zle_bracketed_paste 2> /dev/null; fpath=(\(folder) \\$fpath); \\
                    autoload -U compinit; compinit -u -D"
                zpty -w shell 'compadd() {
                    local -a offered; builtin compadd -O offered "$@"
                    print -rl -- "${(@)offered}" >> \(folder)/offered; builtin compadd "$@" }'
                zpty -w shell 'ended() { zle -M "" ; print > \(folder)/ended; exit }; zle -N ended; bindkey "^X" ended'
                : > \(folder)/offered
                zpty -w -n shell $'\(lines[0])\\t\\x18'
                zpty -r shell said > /dev/null
                while zpty -t shell; do zpty -r shell said || break; done
                zpty -d shell
                grep -v -e '^-' -e '^$' \(folder)/offered
                true
                """,
            ]
        }
    }
}
