// This target declares nothing: its functions exist only for the linker.
