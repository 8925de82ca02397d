// JobStoreContract
