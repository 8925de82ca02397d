# The help of one program, or of one of its verbs, as a manual page. Its text comes from the source of the verb.

def escaped: gsub("\\\\"; "\\e") | gsub("-"; "\\-") | gsub("(?<m>^|\n)(?<c>[.'])"; "\(.m)\\&\(.c)");
def bold: "\\fB\(escaped)\\fR";
def italic: "\\fI\(escaped)\\fR";
def trimmed: gsub("^[ \n]+|[ \n]+$"; "");

def names: [.names[]? | if .kind == "long" then "--" + .name else "-" + .name end];

# An argument as the synopsis shows it.
def usage:
    . as $argument
    | (if .kind == "positional" then .valueName | italic
     elif .kind == "option" then (names[-1] | bold) + " " + (.valueName | italic)
     else names[-1] | bold end) as $text
    | if $argument.isRepeating then $text + " ..." else $text end;
def synopsis: (if .isOptional then "[" + usage + "]" else usage end);

def listed:
    ".TP\n"
    + (if .kind == "positional" then .valueName | italic
       else ([names[] | bold] | sort_by(length) | join(", ")) + (if .kind == "option" then " " + (.valueName | italic) else "" end) end)
    + "\n" + ((.abstract // "") | trimmed | escaped)
    + (if .allValues then "\nOne of " + ([.allValues[] | bold] | join(", ")) + "." else "" end)
    + (if .defaultValue then "\nThe default is " + (.defaultValue | bold) + "." else "" end);

# Formats paragraphs; indented lines stay unchanged; a table of numbers becomes a list.
def prose:
    split("\n\n") | map(
        if test("^[A-Z ]+\n") then
            (split("\n") | ".SH \(.[0])\n" + (.[1:] | map(capture("^ *(?<n>[0-9]+)  (?<t>.*)$") | ".TP\n\(.n | bold)\n\(.t | escaped)") | join("\n")))
        elif test("^ ") then ".PP\n.nf\n\(escaped)\n.fi"
        else ".PP\n\(escaped)" end) | join("\n");

def arguments:
    [.arguments[]? | select(.shouldDisplay)] as $all
    | [$all[] | select(.kind == "positional")] as $values
    | [$all[] | select(.kind != "positional")] as $options
    | (if ($values | length) > 0 then ".SH ARGUMENTS\n" + ($values | map(listed) | join("\n")) + "\n" else "" end)
    + (if ($options | length) > 0 then ".SH OPTIONS\n" + ($options | map(listed) | join("\n")) + "\n" else "" end);

def usageLine($name):
    ".PP\n" + ($name | bold) + " "
    + ([.arguments[]? | select(.shouldDisplay and .kind == "positional") | synopsis] as $values
       | (if any(.arguments[]?; .kind != "positional") then ["[" + ("option" | italic) + " ...]"] else [] end) + $values | join(" "));

def subverbs: [.subcommands[]? | select(.commandName != "help")];
def hasVerbs: (subverbs | length) > 0;

.command as $program
| (if $verb == "" then $program else $program.subcommands[] | select(.commandName == $verb) end) as $command
| ([$program.commandName, $verb] | map(select(. != "")) | join(" ")) as $name
| ($name | gsub(" "; "-")) as $title
| ".TH \($title | ascii_upcase | escaped) \($section) \"\" \"Halyard \($version)\" \"Halyard\"",
  ".nh", ".ad l",
  ".SH NAME", ($title | escaped) + " \\- " + ($command.abstract | rtrimstr(".") | (.[:1] | ascii_downcase) + .[1:] | escaped),
  ".SH SYNOPSIS",
  (if $command | hasVerbs then ($command | subverbs)[] | usageLine("\($name) \(.commandName)") else $command | usageLine($name) end),
  ".SH DESCRIPTION", (if $command.discussion then $command.discussion | prose else ".PP\n" + ($command.abstract | escaped) end),
  (if $command | hasVerbs then
      (if $verb == "" then
          ".SH VERBS", (($command | subverbs)[] | ".TP\n\("\($name)-\(.commandName)" | bold)(1)\n\(.abstract | escaped)")
       else
          (($command | subverbs)[]
           | ".SH \("\($name) \(.commandName)" | ascii_upcase | escaped)", ".PP", (.abstract | escaped),
             (if .discussion then .discussion | prose else empty end),
             (arguments | gsub(".SH (?<h>ARGUMENTS|OPTIONS)\n"; "")))
       end)
   else empty end),
  (if ($command | hasVerbs | not) or $verb == "" then $command | arguments else empty end),
  (if $program.commandName == "halyard" then
      ".SH FILES",
      ".TP\n.I /run/halyard/halyard.sock\nThe control socket, unless \\fBHALYARD_SOCKET\\fR or \\fB\\-\\-socket\\fR is set.",
      ".TP\n.I /var/lib/halyard/halyard.db\nThe database that halyard uses if no daemon runs, unless \\fBHALYARD_DATABASE\\fR or \\fB\\-\\-database\\fR is set. \\fBsqlite3\\fR(1) can read it at any time.",
      (if $verb != "" then ".SH EXIT STATUS", ".PP", "See \\fBhalyard\\fR(1)." else empty end)
   else
      ".SH FILES",
      ".TP\n.I /etc/halyard/halyard.yaml\nThe configuration; see \\fBhalyard.yaml\\fR(5).",
      ".TP\n.I /etc/halyard/definitions.yaml\nThe initial definitions, schedules and queues of a new database.",
      ".TP\n.I /var/lib/halyard/halyard.db\nThe database. To back it up while the daemon runs, use the command .backup of \\fBsqlite3\\fR(1).",
      ".TP\n.I /run/halyard/halyard.sock\nThe control socket.",
      ".SH ENVIRONMENT",
      ".TP\n.B HALYARD_CONFIG\nThe configuration file. Each key also has a variable, such as \\fBHALYARD_UPLOAD_ROOTS\\fR for upload.roots.",
      ".TP\n.B STATE_DIRECTORY\\fR, \\fBRUNTIME_DIRECTORY\\fR, \\fBCONFIGURATION_DIRECTORY\\fR, \\fBCREDENTIALS_DIRECTORY\nThe folders of the database, the socket, the configuration and the tokens for uploads, as set by systemd; see \\fBsystemd.exec\\fR(5).",
      ".TP\n.B NOTIFY_SOCKET\\fR, \\fBWATCHDOG_USEC\\fR, \\fBLISTEN_FDS\nSet by the service manager. The daemon reports to it when it is ready, makes progress or stops, as in \\fBsd_notify\\fR(3), and uses the socket that it passes.",
      ".SH SECURITY", ".PP",
      "Members of the socket's group can make the daemon fetch public addresses, upload files from upload.roots to any public address, and send each token to the servers that upload.credential_origins lists for it. They can also cancel and prune jobs, and change queues and definitions, and thus run the executables beneath program.roots (by default none) as the user of the daemon. They cannot run other programs or write to the database file."
   end),
  ".SH SEE ALSO",
  ".PP",
  ([["halyard", 1], ["halyardd", 8], ["halyard.yaml", 5]] | map(select(.[0] != $title) | "\\fB\(.[0] | escaped)\\fR(\(.[1]))") | join(", "))
