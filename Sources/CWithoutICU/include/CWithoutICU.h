// Nothing to call: these functions are there for the linker.
