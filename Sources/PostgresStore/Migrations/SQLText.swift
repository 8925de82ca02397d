/// A text as a literal of SQL.
func literal(_ text: String) -> String {
    var quoted = "E'"
    for scalar in text.unicodeScalars {
        switch scalar {
        case "'": quoted += "''"
        case "\\": quoted += "\\\\"
        case "\u{1}"..."\u{1F}": quoted += "\\x" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "'"
}
