import Glibc
import Programs
import Testing

/// `halyardd --check-config`, and the same problems at a start.
@Suite(.serialized) struct ConfigurationCheckTests {
    @Test(.timeLimit(.minutes(1)))
    func aGoodConfigurationIsFoundGood() async throws {
        let bed = try TestBed()
        let check = try bed.launch(["--check-config"])
        #expect(await check.waitForEnd() == .exited(0))
        #expect(check.output.text == "The configuration is valid.")
        #expect(access(bed.database, F_OK) != 0)
    }

    /// The check and the start report the same errors of the configuration, all at once and with their keys. The check
    /// changes nothing. A later start may not find a problem that ends by itself.
    @Test(.timeLimit(.minutes(1)))
    func theCheckAndTheStartFindTheSame() async throws {
        let bed = try TestBed()
        let wrong = bed.folder.path + "/wrong"
        try bed.folder.write("no certificates\n", to: "wrong")
        let cases: [(setting: String, told: String, status: Int32)] = [
            ("socket_group=no-such-group", "socket_group: there is no group \"no-such-group\"; create it", 78),
            ("spool.directory=\(wrong)", "spool.directory: \(wrong) is not a folder", 78),
            (
                "spool.directory=\(bed.folder.path)/none/spool",
                "spool.directory: \(bed.folder.path)/none/spool cannot be created", 74
            ),
            ("spool.directory=/proc/none", "spool.directory: ", 74),
            ("upload.checkpoints=/proc/none", "upload.checkpoints: ", 74),
            ("upload.checkpoints=\(wrong)", "upload.checkpoints: \(wrong) is not a folder", 78),
            (
                "network.authorities=\(wrong)",
                "network.authorities names \(wrong), which contains no readable certificates", 78
            ),
            (
                "network.authorities=\(wrong)-too",
                "network.authorities names \(wrong)-too, which cannot be read (No such", 74
            ),
            (
                "network.authorities=\(bed.folder.path)",
                "network.authorities names \(bed.folder.path), which contains no readable certificates", 78
            ),
            ("definitions=\(wrong)-too", "definitions: \(wrong)-too cannot be read: No such file", 74),
        ]
        for (setting, told, status) in cases {
            let before = try await ChildProcess.run("ls", ["-lA", "--time-style=full-iso", bed.folder.path]).output
            let check = try bed.launch(["--check-config", "--set", setting])
            #expect(await check.waitForEnd() == .exited(78), "\(setting)")
            #expect(check.errors.text.contains(told), "\(check.errors.text)")
            let after = try await ChildProcess.run("ls", ["-lA", "--time-style=full-iso", bed.folder.path]).output
            #expect(after == before)
            let start = try bed.launch(["--set", setting])
            #expect(await start.waitForEnd() == .exited(status), "\(setting)")
            #expect(start.errors.text.contains(told), "\(start.errors.text)")
            #expect(access(bed.database, F_OK) != 0)
        }
        let both = try bed.launch([
            "--check-config", "--set", "socket_group=no-such-group", "--set", "network.authorities=\(wrong)",
        ])
        #expect(await both.waitForEnd() == .exited(78))
        #expect(both.errors.text.contains("socket_group: ") && both.errors.text.contains("network.authorities names"))
        // One that lasts is enough.
        let start = try bed.launch(["--set", "socket_group=no-such-group", "--set", "network.authorities=\(wrong)-too"])
        #expect(await start.waitForEnd() == .exited(78))
    }

    /// Found without opening either.
    @Test(.timeLimit(.minutes(1)))
    func theCheckLooksAtTheDatabaseAndTheSocketsPath() async throws {
        let bed = try TestBed()
        try bed.folder.write("", to: "empty")
        try bed.folder.write(String(repeating: "x", count: 200), to: "words")
        try await ChildProcess.run("sqlite3", [bed.folder.path + "/foreign", "CREATE TABLE t(x)"])
        let long = "/" + String(repeating: "s", count: 103)
        for (setting, told) in [
            ("database=\(bed.folder.path)", "database: \(bed.folder.path) is not a regular file"),
            ("database=\(bed.folder.path)/empty", "database: \(bed.folder.path)/empty is an empty file"),
            ("database=\(bed.folder.path)/words", "database: \(bed.folder.path)/words is not an SQLite database"),
            ("database=\(bed.folder.path)/foreign", "/foreign is an SQLite database of another program"),
            ("socket=\(long)", "socket: The socket's path \(long) has 104 bytes; choose a path of 1 to 103 bytes."),
        ] {
            let before = try await ChildProcess.run("ls", ["-lA", "--time-style=full-iso", bed.folder.path]).output
            let check = try bed.launch(["--check-config", "--set", setting])
            #expect(await check.waitForEnd() == .exited(78), "\(setting)")
            #expect(check.errors.text.contains(told), "\(check.errors.text)")
            let after = try await ChildProcess.run("ls", ["-lA", "--time-style=full-iso", bed.folder.path]).output
            #expect(after == before)
        }
        // Ours is good; whoever runs once opens no socket that a group could be given.
        let once = try bed.launch(["--once", "--set", "socket_group=no-such-group"])
        #expect(await once.waitForEnd() == .exited(0), "\(once.errors.text)")
        let check = try bed.launch(["--check-config", "--set", "socket=\(long.dropLast())"])
        #expect(await check.waitForEnd() == .exited(0), "\(check.errors.text)")
    }

    @Test(.timeLimit(.minutes(1)))
    func aConfigurationThatIsNoTextIsToldForWhatItIs() async throws {
        let bed = try TestBed()
        let latin = try await ChildProcess.run(
            "sh", ["-c", "printf 'slots: 4\\n# \\351t\\351\\n' > \(bed.folder.path)/latin"])
        #expect(latin.status == .exited(0))
        #expect(mkfifo(bed.folder.path + "/pipe", 0o600) == 0)
        for (path, told) in [
            ("/dev/null", "/dev/null is not a regular file."),
            ("\(bed.folder.path)/pipe", "/pipe is not a regular file."),
            (bed.folder.path, "\(bed.folder.path) is a folder; use the path of a file."),
            ("\(bed.folder.path)/latin", "/latin is not UTF-8: line 2 contains the byte 0xE9; save it as UTF-8."),
        ] {
            let start = try bed.spawn(binary("halyardd"), ["--config", path])
            #expect(await start.waitForEnd() == .exited(78))
            #expect(start.errors.text.contains(told), "\(start.errors.text)")
        }
    }

    /// A start would roll this database back to a good one.
    @Test(.timeLimit(.minutes(1)))
    func theCheckDoesNotJudgeADatabaseThatHasToBeRecovered() async throws {
        let bed = try TestBed()
        let first = try bed.launch(["--once"])
        #expect(await first.waitForEnd() == .exited(0), "\(first.errors.text)")
        let hot = bed.folder.path + "/hot"
        #expect(mkdir(hot, 0o700) == 0)
        // The copy of a moment within a transaction is what a crash leaves. The page that the journal can restore is lost.
        let made = try await ChildProcess.run(
            "sqlite3",
            [
                bed.database, "PRAGMA journal_mode = delete", "PRAGMA synchronous = off", "BEGIN IMMEDIATE",
                "UPDATE queue SET weight = weight + 1", ".shell cp \(bed.database) \(bed.database)-journal \(hot)/",
                "ROLLBACK", "SELECT rootpage - 1 FROM sqlite_schema WHERE name = 'queue'",
            ])
        let page = try #require(made.output.split(separator: "\n").last.flatMap { Int($0) }, "\(made)")
        let lost = try await ChildProcess.run(
            "dd",
            ["if=/dev/zero", "of=\(hot)/halyard.db", "bs=4096", "seek=\(page)", "count=1", "conv=notrunc"])
        #expect(lost.status == .exited(0))
        let before = try await ChildProcess.run("sh", ["-c", "ls -lA --time-style=full-iso \(hot); md5sum \(hot)/*"])
        let check = try bed.launch(["--check-config", "--set", "database=\(hot)/halyard.db"])
        #expect(await check.waitForEnd() == .exited(0), "\(check.errors.text)")
        #expect(check.errors.text.contains("the next start must recover \(hot)/halyard.db-journal first"))
        let after = try await ChildProcess.run("sh", ["-c", "ls -lA --time-style=full-iso \(hot); md5sum \(hot)/*"])
        #expect(after == before)
        let start = try bed.launch(["--once", "--set", "database=\(hot)/halyard.db"])
        #expect(await start.waitForEnd() == .exited(0), "\(start.errors.text)")
    }

    /// A lock file may be left from a time when the path was that of another database.
    @Test(.timeLimit(.minutes(1)))
    func nothingIsMadeBesideTheFileOfAnotherProgram() async throws {
        let bed = try TestBed()
        let folder = bed.folder.path + "/app"
        #expect(mkdir(folder, 0o700) == 0)
        try await ChildProcess.run("sqlite3", [folder + "/app.db", "CREATE TABLE t(x)"])
        try bed.folder.write("", to: "app/app.db-lock")
        let start = try bed.launch(["--set", "database=\(folder)/app.db"])
        #expect(await start.waitForEnd() == .exited(78))
        #expect(start.errors.text.contains("database of another program"), "\(start.errors.text)")
        #expect(try await ChildProcess.run("ls", ["-A", folder]).output == "app.db\napp.db-lock")
    }

    /// Whoever checks may not be who the daemon will run as.
    @Test(.timeLimit(.minutes(1)), .enabled(if: geteuid() == 0))
    func whatOnlyTheDaemonsUserCanTellIsAWarning() async throws {
        let bed = try TestBed()
        try bed.folder.write("-----BEGIN CERTIFICATE-----\n", to: "secret.pem")
        #expect(mkdir(bed.folder.path + "/spool", 0o700) == 0 && chmod(bed.folder.path + "/secret.pem", 0o600) == 0)
        #expect(chmod(bed.folder.path, 0o755) == 0)
        for path in [bed.configuration, bed.folder.path + "/definitions.yaml"] { #expect(chmod(path, 0o644) == 0) }
        let check = try bed.spawn(
            "setpriv",
            [
                "--reuid=65534", "--regid=65534", "--clear-groups", binary("halyardd"), "--config", bed.configuration,
                "--check-config", "--set", "network.authorities=\(bed.folder.path)/secret.pem", "--set",
                "socket_group=root",
            ])
        #expect(await check.waitForEnd() == .exited(0), "\(check.errors.text)")
        #expect(check.output.text.contains("is valid, with"))
        for told in [
            "network.authorities names \(bed.folder.path)/secret.pem, which cannot be read (Permission denied) by this user",
            "spool.directory: \(bed.folder.path)/spool cannot be written (Permission denied) by this user",
            "socket_group: the socket cannot be given to root (Operation not permitted) by this user",
        ] {
            #expect(check.errors.text.contains(told), "\(check.errors.text)")
        }
    }

    /// It may come with a disk that is mounted later, and jobs that need none of it run.
    @Test(.timeLimit(.minutes(1)), arguments: ["upload.roots", "upload.credentials"])
    func aFolderThatIsNotThereIsToldByTheCheckAndTheDaemonAlike(key: String) async throws {
        let bed = try TestBed()
        let folder = ["--set", "\(key)=\(bed.folder.path)/none"]
        let warning = "\(key): \(bed.folder.path)/none cannot be accessed (No such file or directory)"
        let check = try bed.launch(["--check-config"] + folder)
        #expect(await check.waitForEnd() == .exited(0))
        #expect(check.output.text == "The configuration is valid, with 1 warning.")
        #expect(check.errors.text.contains(warning))
        let once = try bed.launch(["--once"] + folder)
        #expect(await once.waitForEnd() == .exited(0))
        #expect(once.errors.text.contains(warning))
    }

    @Test(.timeLimit(.minutes(1)))
    func aBadConfigurationIsRefusedWithEveryProblem() async throws {
        let bed = try TestBed()
        try bed.configure("slotss: 4\nageing: soon\n")
        for arguments in [["--check-config"], []] {
            let check = try bed.launch(arguments)
            #expect(await check.waitForEnd() == .exited(78))
            #expect(check.errors.text.contains("halyard.yaml:7: unknown key \"slotss\"; did you mean \"slots\"?"))
            #expect(check.errors.text.contains("halyard.yaml:8: ageing is \"soon\""))
        }
        #expect(access(bed.database, F_OK) != 0)
    }

    @Test(.timeLimit(.minutes(1)))
    func badFirstDefinitionsAreFoundByTheCheck() async throws {
        let bed = try TestBed()
        try bed.folder.write("definitions:\n  a: {kind: uplaod}\n", to: "definitions.yaml")
        let check = try bed.launch(["--check-config"])
        #expect(await check.waitForEnd() == .exited(78))
        #expect(check.errors.text.contains("uplaod"))
        #expect(check.errors.text.contains("did you mean \"upload\"?"))
        // No job of this definition can succeed, whatever its input adds.
        try bed.folder.write(
            "definitions:\n  a:\n    kind: upload\n    input: {to: \"http://a:b@h/\"}\n", to: "definitions.yaml")
        let hopeless = try bed.launch(["--check-config"])
        #expect(await hopeless.waitForEnd() == .exited(78))
        #expect(hopeless.errors.text.contains("line 4: definition \"a\": input: `to` must not contain a user"))
    }

    /// A graph that names a definition with a problem of shape is judged once that is mended.
    @Test(.timeLimit(.minutes(1)))
    func problemsOfShapeHideNoOthers() async throws {
        let bed = try TestBed()
        try bed.folder.write(
            """
            definitions:
              typo: {kind: uplaod}
              late: {kind: unfurl, timeout: soon}
              missing: {queue: default}
            graphs:
              chain:
                nodes:
                  first: {definition: missing, input: {nonsense: 1}}
              lost:
                nodes:
                  only: {definition: nowhere}
            schedules:
              nightly: {calendar: daily, definition: chain}
            """, to: "definitions.yaml")
        let check = try bed.launch(["--check-config"])
        #expect(await check.waitForEnd() == .exited(78))
        let told = check.errors.text
        for problem in ["line 3: definitions.late.timeout", "line 4: definitions.missing", "line 2: ", "line 11: "] {
            #expect(told.contains(problem), "\(problem) is missing in: \(told)")
        }
        #expect(told.contains("uplaod") && told.contains("nowhere"), "\(told)")
        #expect(!told.contains("chain") && !told.contains("nonsense"), "\(told)")
    }
}
