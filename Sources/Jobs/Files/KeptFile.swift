/// A file that an attempt produced as its result, and that the daemon keeps with the job.
public struct KeptFile: Sendable, Hashable {
    /// The file's own name, without a folder.
    public var name: String
    /// The size in bytes.
    public var size: Int64
    /// The SHA-256 of the content, in hexadecimal.
    public var sha256: String
    /// The absolute path of the content on the daemon's machine.
    public var path: String

    /// Creates a description.
    public init(name: String, size: Int64, sha256: String, path: String) {
        self.name = name
        self.size = size
        self.sha256 = sha256
        self.path = path
    }
}

/// The output of a job whose result is a file: `{"file": NAME, "size": BYTES, "sha256": HEX, "path": PATH}`.
extension KeptFile: JSONShaped {
    /// Parses an output.
    ///
    /// - Throws: ``ShapeProblem`` if it is another kind of output.
    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        let fields = try JSONFields(json, at: path, known: ["file", "size", "sha256", "path"])
        self.init(
            name: try fields.required("file", fields.string("file")),
            size: Int64(try fields.required("size", fields.integer("size"))),
            sha256: try fields.required("sha256", fields.string("sha256")),
            path: try fields.required("path", fields.string("path")))
    }

    public var json: JSONText {
        JSONWriter.text {
            $0.object { object in
                object.field("file", name)
                object.field("size", size)
                object.field("sha256", sha256)
                object.field("path", path)
            }
        }
    }
}
