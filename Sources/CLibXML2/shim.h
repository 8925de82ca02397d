#include <libxml/xmlversion.h>
// Debian's libxml2 is built with ICU, whose headers clash with the ICU inside Foundation. Only pointers to ICU's types stand in
// structures that are never looked into here.
#undef LIBXML_ICU_ENABLED
#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
