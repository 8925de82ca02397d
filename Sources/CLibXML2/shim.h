#include <libxml/xmlversion.h>
// Debian's libxml2 is built with ICU, whose headers clash with the ICU inside Foundation. libxml2's structures contain only
// pointers to ICU's types, and Halyard does not use these pointers.
#undef LIBXML_ICU_ENABLED
#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
