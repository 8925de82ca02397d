import Testing

/// The tests run one after the other: they compare the descriptors of this program, and one of them has a limit of its own.
@Suite(.serialized) struct ProcessesTests {}
