@_exported import OperationTypes
