import Glibc
import NIOHTTP1
import Web

/// Performs the steps of an upload that can be resumed.
struct UploadDriver<Machine: UploadMachine>: Sendable {
    let transfer: Transfer
    let machine: Machine

    private struct Answered: Sendable {
        let answer: UploadAnswer
        let request: UploadRequest
        let purpose: Machine.Purpose
    }

    /// - Returns: Nil if the server does not know the protocol.
    func run(from saved: Checkpoint?) async throws(KindFailure) -> Upload.Output? {
        let start = ContinuousClock.now
        let result = await withTaskGroup(of: Answered.self) { group -> Result<Upload.Output?, KindFailure> in
            var machine = machine
            do throws(KindFailure) {
                var steps = try machine.begin(from: saved)[...]
                while true {
                    while let step = steps.popFirst() {
                        switch step {
                        case .send(let request, let purpose):
                            group.addTask {
                                Answered(answer: await answer(to: request, start), request: request, purpose: purpose)
                            }
                        case .read(let read, let purpose):
                            steps += try machine.read(try await transfer.read(read), for: purpose)
                        case .save(let checkpoint):
                            try await transfer.save(checkpoint)
                            transfer.progress.reached(checkpoint.offset)
                        case .forget: transfer.forget()
                        case .delete(let checkpoint): await transfer.deletion.delete(checkpoint)
                        case .verify(let digest): try await transfer.verify(digest.value, ofFirst: digest.count)
                        case .finish(let output): return .success(output)
                        case .fail(let failure): throw failure
                        case .sendPlainly: return .success(nil)
                        }
                    }
                    guard let next = await group.next() else { preconditionFailure("an upload has a next step") }
                    steps += try machine.next(after: next.answer, to: next.request, for: next.purpose)
                }
            } catch {
                group.cancelAll()
                // Parts that the server has stored meanwhile need not be sent again.
                while let next = await group.next() {
                    // Losing an error is harmless: that part is sent again.
                    let steps = try? machine.answered(next.answer, to: next.request, for: next.purpose)
                    for case .save(let checkpoint) in steps ?? [] { try? await transfer.save(checkpoint) }
                }
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func answer(to request: UploadRequest, _ start: ContinuousClock.Instant) async -> UploadAnswer {
        let interim = InterimAnswers()
        var digest = request.digest
        var result: Result<UploadReply, KindFailure>
        do throws(KindFailure) {
            do { try await Task.sleep(for: request.wait) } catch { throw .cancelled }
            result = .success(try await transfer.perform(request, digest: &digest, interim: interim))
        } catch {
            result = .failure(error)
        }
        // Without a response, there is no time of the server.
        let date = (try? result.get())?.headers["date"].first.flatMap(HTTPDate.parse)
        let beganAt = (date ?? Int64(time(nil))) - (ContinuousClock.now - start).components.seconds
        return UploadAnswer(result: result, interim: interim.upload, digest: digest, attemptBeganAt: beganAt)
    }
}
