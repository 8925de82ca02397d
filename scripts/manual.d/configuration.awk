# config/halyard.yaml as the manual page halyard.yaml(5): each comment becomes the text of the key below it.
function escaped(text) {
    gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text)
    # Allows a line break after a slash: a long path may not fit on one line.
    gsub(/\//, "/\\:", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}
function flush_text() { for (i = 1; i <= count; i++) print escaped(lines[i]); count = 0 }
BEGIN {
    print ".TH HALYARD.YAML 5 \"\" \"Halyard " version "\" \"Halyard\"\n.nh\n.ad l"
    print ".SH NAME\nhalyard.yaml \\- the configuration of halyardd"
    print ".SH SYNOPSIS\n.I /etc/halyard/halyard.yaml\n.SH DESCRIPTION\n.PP"
}
/^ *# / { sub(/^ *# /, ""); lines[++count] = $0; next }
/^ *#[a-z_]+:/ {
    if (!keys++) print ".SH KEYS"
    indented = /^ /
    sub(/^ *#/, "")
    key = $0; sub(/:.*/, "", key)
    value = $0; sub(/^[^:]*: */, "", value)
    if (!indented) group = value == "" ? key "." : ""
    # The name of a group is part of the names of its keys.
    if (value == "" && !indented) next
    print ".TP\n\\fB" escaped((indented ? group : "") key) "\\fR: " escaped(value)
    flush_text()
    next
}
/^ *$/ && !keys { flush_text() ; print ".PP" }
END { print ".SH SEE ALSO\n.PP\n\\fBhalyardd\\fR(8), \\fBhalyard\\fR(1)" }
