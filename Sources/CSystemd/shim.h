// Without this, sd_journal_sendv is a macro that gives this header as the source location of every message.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
