// Programs import only this module.
@_exported import Jobs
@_exported import OperationTypes
@_exported import Worker
