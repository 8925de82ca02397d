// The published operations use this spelling.

extension UnfurlURLOperation.Error {
    /// The same as `cancelled`.
    public static var canceled: Self { .cancelled }
}

extension UnfurlURLChainedOperation.Error {
    /// The same as `cancelled`.
    public static var canceled: Self { .cancelled }
}

extension FetchTitleChainedOperation.Error {
    /// The same as `cancelled`.
    public static var canceled: Self { .cancelled }
}
