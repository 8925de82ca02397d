// Newer releases deprecate functions for which Debian 12's release has no replacement.
#define CARES_NO_DEPRECATED
#include <ares.h>

// ARES_SUCCESS is a macro in Debian 12's release, and an enumerator in newer releases.
static const int halyard_ares_success = ARES_SUCCESS;
