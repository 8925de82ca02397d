import Glibc

/// The names of the files in a folder, in any order, without `.` and `..`.
package struct FolderNames {
    package private(set) var names: [String] = []
    /// Names that are not UTF-8, repaired to be shown to people.
    package private(set) var repaired: [String] = []

    /// Reads the folder. Returns nil if that fails; `errno` is the reason.
    package init?(_ folder: String) {
        guard let list = opendir(folder) else { return nil }
        defer { closedir(list) }
        while let entry = readdir(list) {
            // Read the name in place: an entry is only as long as its name, so copying the whole array would read
            // beyond its end.
            guard let text = entry.pointer(to: \.d_name) else { continue }
            let bytes = UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self)
            guard let name = String(validatingCString: bytes) else {
                repaired.append(String(cString: bytes))
                continue
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }
}
