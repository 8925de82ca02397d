#include "CBaseline.h"
int halyard_baseline_placeholder(void) { return 0; }
