// Debian's static libxml2 refers to ICU and to liblzma, for documents in rare encodings and for compressed files. Halyard
// parses only UTF-8 in memory, so a release leaves out their 30 MB of tables. These functions replace theirs, and report a
// failure if called. They are hidden, so that a libxml2 that is linked dynamically still finds the real ones.
#include <libxml/xmlversion.h>

#define STAND_IN(result, name, ...) __attribute__((visibility("hidden"))) result name(__VA_ARGS__)

#ifdef LIBXML_ICU_ENABLED
#include <unicode/uvernum.h>
#define ICU(name) U_ICU_ENTRY_POINT_RENAME(name)

static const int unsupported = 16;  // U_UNSUPPORTED_ERROR

STAND_IN(void *, ICU(ucnv_open), const char *name, int *status) {
    *status = unsupported;
    return 0;
}
STAND_IN(void, ICU(ucnv_close), void *converter) {}
STAND_IN(void, ICU(ucnv_convertEx), void *to, void *from, char **target, const char *targetLimit, const char **source,
    const char *sourceLimit, void *pivotStart, void **pivotSource, void **pivotTarget, const void *pivotLimit,
    signed char reset, signed char flush, int *status) {
    *status = unsupported;
}
STAND_IN(void, ICU(ucnv_setToUCallBack), void *converter, void *action, const void *context, void **oldAction,
    const void **oldContext, int *status) {
    *status = unsupported;
}
STAND_IN(void, ICU(ucnv_setFromUCallBack), void *converter, void *action, const void *context, void **oldAction,
    const void **oldContext, int *status) {
    *status = unsupported;
}
STAND_IN(void, ICU(UCNV_TO_U_CALLBACK_STOP), void) {}
STAND_IN(void, ICU(UCNV_FROM_U_CALLBACK_STOP), void) {}
#endif

static const int programmingError = 11;  // LZMA_PROG_ERROR

STAND_IN(int, lzma_auto_decoder, void *stream, unsigned long long memory, unsigned flags) { return programmingError; }
STAND_IN(int, lzma_code, void *stream, int action) { return programmingError; }
STAND_IN(int, lzma_properties_decode, void *filter, const void *allocator, const unsigned char *bytes, unsigned long size) {
    return programmingError;
}
STAND_IN(void, lzma_end, void *stream) {}
