// Without this, sd_journal_sendv is a macro that names this header as the place of every message.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
