import Foundation
import Jobs
import OperationTypes
import Samples
import Servers
import Testing
import Web

@testable import Kinds

/// One attempt to upload a file to an S3 store.
struct S3Attempt {
    let server: LoopbackServer
    let bytes: Int
    let createOnly: Bool?
    let path: String
    /// Origins that may receive the credential, besides the server's.
    let origins: [String]
    let client: OutgoingConfiguration

    init(
        _ server: LoopbackServer, bytes: Int, createOnly: Bool? = nil, path: String = "/bucket/key",
        origins: [String] = [], client: OutgoingConfiguration = loopbackConfiguration()
    ) {
        (self.server, self.bytes, self.createOnly, self.path) = (server, bytes, createOnly, path)
        (self.origins, self.client) = (origins, client)
    }

    func result() async throws -> Result<Upload.Output, KindFailure> {
        try await withFolder { folder in
            try Data(randomBytes(bytes, seed: 1)).write(to: URL(fileURLWithPath: folder + "/file"))
            return try await withClient(client) { client in
                var configuration = PartStore.configuration(folder, server)
                configuration.credentialOrigins += origins.compactMap { CredentialOrigin("store=\($0)") }
                let upload = Upload(client: client, configuration: configuration)
                let input = Upload.Input(
                    file: folder + "/file", to: server.origin + path, style: .s3, credential: "store",
                    createOnly: createOnly)
                do throws(KindFailure) {
                    return .success(
                        try await upload.run(
                            input,
                            job: JobContext(
                                lease: Lease(job: JobID(1), attempt: 1), operation: OperationContext(),
                                onEnqueue: { _ in })))
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    func output() async throws -> Upload.Output { try await result().get() }

    /// Returns nil and records an issue if the attempt succeeds.
    func failure(sourceLocation: SourceLocation = #_sourceLocation) async throws -> KindFailure? {
        switch try await result() {
        case .failure(let failure): return failure
        case .success(let output):
            Issue.record("succeeded with \(output)", sourceLocation: sourceLocation)
            return nil
        }
    }
}

extension PartStore {
    static func configuration(_ folder: String, _ server: LoopbackServer) -> UploadConfiguration {
        var configuration = UploadConfiguration()
        configuration.roots = [folder]
        configuration.checkpoints = folder
        configuration.partBytes = 1 << 20
        configuration.chunkBytes = 4 << 20
        configuration.credentials = { _ throws(KindFailure) in "AKIDEXAMPLE:secret" }
        configuration.credentialOrigins = [CredentialOrigin("store=\(server.origin)")].compactMap(\.self)
        return configuration
    }
}
