// Newer releases mark calls that Debian 12's release has no replacement for.
#define CARES_NO_DEPRECATED
#include <ares.h>

// A macro in Debian 12's release, a case of an enumeration in newer ones.
static const int halyard_ares_success = ARES_SUCCESS;
