extension Future {
    /// A future with the result of the first future to be resolved, a value or an error. If several are already
    /// resolved, the leftmost wins. Without futures, it stays pending.
    @inlinable
    public static func first(_ futures: Future...) -> Future { first(futures) }

    /// A future with the result of the first future to be resolved, a value or an error. If several are already
    /// resolved, the leftmost wins. Without futures, it stays pending.
    @inlinable
    public static func first(_ futures: [Future]) -> Future {
        for future in futures {
            if let result = future.result { return Future(result: result) }
        }
        let target = Settlement<Value, Error>(resolvers: futures.count)
        var chain = Chain()
        for future in futures {
            future.forward(to: target, &chain)
        }
        chain.fire()
        return Future(target)
    }
}
