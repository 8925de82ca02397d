import CLinux
import Glibc

/// The pages of the executable that are resident in this process.
///
/// The kernel maps sixteen pages at once, so after the start nearly all of the program is in its memory, although an idle
/// daemon uses a small part of it.
enum StartPages {
    /// Unmaps the resident pages of code and constants. They normally stay in the kernel's cache of the file, and those that
    /// are used again come back within microseconds.
    static func release() {
        for segment in segments() {
            // Failing is harmless: the pages stay.
            _ = madvise(UnsafeMutableRawPointer(bitPattern: segment.lowerBound), segment.count, MADV_DONTNEED)
        }
    }

    /// The addresses of the parts that this program cannot write, in whole pages.
    static func segments() -> [Range<UInt>] {
        guard let first = UnsafePointer<Elf64_Phdr>(bitPattern: getauxval(UInt(AT_PHDR))) else { return [] }
        let headers = UnsafeBufferPointer(start: first, count: Int(getauxval(UInt(AT_PHNUM))))
        // Its difference from the actual address of the headers is the load offset.
        guard let own = headers.first(where: { $0.p_type == PT_PHDR }) else { return [] }
        let base = UInt(bitPattern: first) &- UInt(own.p_vaddr)
        let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
        return headers.filter { $0.p_type == PT_LOAD && $0.p_flags & UInt32(PF_W) == 0 }.compactMap { header in
            let start = base &+ UInt(header.p_vaddr)
            let end = (start + UInt(header.p_filesz)) / page * page
            let begin = (start + page - 1) / page * page
            return begin < end ? begin..<end : nil
        }
    }
}
