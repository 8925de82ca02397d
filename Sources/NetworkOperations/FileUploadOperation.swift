import Foundation
import Kinds
import Operations
import Web

/// Uploads a file with PUT, in pieces, so that the whole file is never in memory. The result is the server's receipt.
///
/// SAFETY: This class adds only immutable values that are Sendable.
public final class FileUploadOperation: AsyncResultOperation<Upload.Output, KindFailure>, @unchecked Sendable {
    private let fileURL: URL
    private let targetUploadURL: URL
    private let client: OutgoingClient

    /// Creates an operation that uploads the file to `targetUploadURL` through `client`.
    public init(fileURL: URL, targetUploadURL: URL, client: OutgoingClient = .shared) {
        self.fileURL = fileURL
        self.targetUploadURL = targetUploadURL
        self.client = client
    }

    /// Starts the upload.
    public override func main() {
        // The caller names the file, so its folder is allowed. Symbolic links in the path of the folder are resolved; a
        // link in place of the file is not.
        let folder = fileURL.deletingLastPathComponent().resolvingSymlinksInPath().path
        var configuration = UploadConfiguration()
        configuration.roots = [folder]
        let input = Upload.Input(
            file: folder + "/" + fileURL.lastPathComponent, to: targetUploadURL.absoluteString)
        Upload(client: client, configuration: configuration).start(input, cancellation: cancellation) {
            self.finish(with: $0)
        }
    }
}
