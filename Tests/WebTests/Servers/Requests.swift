import NIOCore
import NIOHTTP1
import Servers
import WebSyntax

@testable import Web

/// Sends a GET and discards the body of the response.
func get(_ url: String, _ client: OutgoingClient) async throws(KindFailure) -> OutgoingResponse {
    try await send(OutgoingRequest(method: .GET, url: WebURL(url)), client)
}

/// Sends `body` in a PUT and discards the body of the response.
func put(_ body: String, to url: String, _ client: OutgoingClient) async throws(KindFailure) -> OutgoingResponse {
    try await send(
        OutgoingRequest(method: .PUT, url: WebURL(url), body: .bytes(ByteBuffer(string: body)), isGentle: false),
        client)
}

private func send(
    _ request: OutgoingRequest, _ client: OutgoingClient
) async throws(KindFailure) -> OutgoingResponse {
    try await client.exchange(request) { response throws(KindFailure) in
        await response.discard()
        return response
    }
}
