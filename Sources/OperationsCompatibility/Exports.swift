@_exported import Operations

#if canImport(NetworkAdapters)
    @_exported import NetworkAdapters
#endif
