extension Future {
    /// The first to resolve, with a value or an error; of several that are resolved already, the leftmost. Of no futures,
    /// one that stays pending.
    @inlinable
    public static func first(_ futures: Future...) -> Future { first(futures) }

    /// The first to resolve, with a value or an error; of several that are resolved already, the leftmost. Of no futures,
    /// one that stays pending.
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
