// Programs import only this module.
@_exported import Client
@_exported import ControlProtocol
@_exported import Jobs
@_exported import OperationTypes
