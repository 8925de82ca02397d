// Commands
