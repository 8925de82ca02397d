import Foundation
import Kinds
import Operations

/// Sends a file, with PUT, in pieces and never read whole; ends with the server's receipt.
///
/// SAFETY: What this class adds is immutable and Sendable.
public final class FileUploadOperation: AsyncResultOperation<Upload.Output, KindFailure>, @unchecked Sendable {
    private let fileURL: URL
    private let targetUploadURL: URL
    private let client: OutgoingClient

    public init(fileURL: URL, targetUploadURL: URL, client: OutgoingClient = .shared) {
        self.fileURL = fileURL
        self.targetUploadURL = targetUploadURL
        self.client = client
    }

    public override func main() {
        // The caller names the file, so its folder is allowed; links on the way there are resolved, one in its place is not.
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
