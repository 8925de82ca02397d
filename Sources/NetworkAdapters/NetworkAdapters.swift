// NetworkAdapters
