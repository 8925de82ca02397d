import CSQLite

/// The names of parameters, as an enumeration: the case `job` is the parameter `:job`.
public protocol ParameterName: RawRepresentable, CaseIterable, Sendable where RawValue == UInt8 {}

/// The names of a statement without parameters.
public enum NoParameter: UInt8, ParameterName {
    case none
}

/// A value with the name of the parameter it is bound to.
public struct Bound<Name: ParameterName> {
    @usableFromInline let name: Name
    @usableFromInline let value: BoundValue

    @inlinable
    init(name: Name, value: BoundValue) {
        self.name = name
        self.value = value
    }
}

precedencegroup BindingPrecedence {
    lowerThan: TernaryPrecedence
}
infix operator <- : BindingPrecedence

extension ParameterName {
    @inlinable
    public static func <- (name: Self, value: some Bindable) -> Bound<Self> {
        Bound(name: name, value: value.boundValue)
    }
}

/// A value that a parameter can be bound to.
public protocol Bindable {
    var boundValue: BoundValue { get }
}

/// A value as SQLite stores it.
public enum BoundValue {
    case null
    case integer(Int64)
    case text(String)
    /// UTF-8 bytes that become a text.
    case utf8([UInt8])
    case blob([UInt8])
    /// UTF-8 bytes that SQLite does not copy. They must stay in place until the run has ended.
    case uncopied(UnsafeBufferPointer<UInt8>)

    @inlinable
    func bind(to statement: OpaquePointer?, at index: Int32) -> Int32 {
        switch self {
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .null: sqlite3_bind_null(statement, index)
        default: bindBytes(to: statement, at: index)
        }
    }

    @usableFromInline
    func bindBytes(to statement: OpaquePointer?, at index: Int32) -> Int32 {
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)  // SQLITE_TRANSIENT
        switch self {
        case .null, .integer: preconditionFailure("the value has no bytes")
        case .text(var text):
            return text.withUTF8 { Self.bind($0, to: statement, at: index, copied) }
        case .utf8(let bytes):
            return bytes.withUnsafeBufferPointer { Self.bind($0, to: statement, at: index, copied) }
        case .uncopied(let bytes):
            // The destructor nil is SQLITE_STATIC.
            return Self.bind(bytes, to: statement, at: index, nil)
        case .blob(let bytes):
            return bytes.withUnsafeBytes { buffer in
                sqlite3_bind_blob64(statement, index, buffer.baseAddress, UInt64(buffer.count), copied)
            }
        }
    }

    private static func bind(
        _ bytes: UnsafeBufferPointer<UInt8>, to statement: OpaquePointer?, at index: Int32,
        _ destructor: sqlite3_destructor_type?
    ) -> Int32 {
        // A null pointer would bind NULL.
        let empty: StaticString = ""
        let start = UnsafeRawPointer(bytes.baseAddress ?? empty.utf8Start).assumingMemoryBound(to: CChar.self)
        return sqlite3_bind_text64(statement, index, start, UInt64(bytes.count), destructor, UInt8(SQLITE_UTF8))
    }
}

extension BoundValue: Bindable {
    @inlinable public var boundValue: BoundValue { self }
}

extension Int: Bindable {
    @inlinable public var boundValue: BoundValue { .integer(Int64(self)) }
}

extension Int64: Bindable {
    @inlinable public var boundValue: BoundValue { .integer(self) }
}

extension Bool: Bindable {
    @inlinable public var boundValue: BoundValue { .integer(self ? 1 : 0) }
}

extension String: Bindable {
    @inlinable public var boundValue: BoundValue { .text(self) }
}

extension Optional: Bindable where Wrapped: Bindable {
    @inlinable public var boundValue: BoundValue { map(\.boundValue) ?? .null }
}

extension Bindable where Self: RawRepresentable, RawValue: BinaryInteger {
    @inlinable public var boundValue: BoundValue { .integer(Int64(rawValue)) }
}
