# Buries the log.
yes "all is well" | head -c 50000000
