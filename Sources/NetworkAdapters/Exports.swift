@_exported import Operations
